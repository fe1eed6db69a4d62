package spreadtables

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"golang.org/x/sys/unix"
)

// Tables are the nftables tables of one entry. The methods may be called from any goroutine.
type Tables struct {
	name string

	mu        sync.Mutex
	conn      nfttables.Conn
	applied   *Config // what the kernel has; nil: not known
	abilities Abilities
	made      map[byte]made // by family
	seen      uint32        // the newest generation of nftables in which all was as it should be; 0: none
	looked    time.Time     // when that was
	until     time.Time     // when the first of the timed elements end
	mended    bool          // since Mend was asked last

	unfollow func() // ends the look after changes of others; set once
}

const tablePrefix = "keepvip-spread-"

// ErrGone means that the interface is not there, or has another name by now.
var ErrGone = errors.New("spreadtables: the interface is gone")

// Open takes charge of the tables of that entry, and changes nothing yet: those that an earlier run has left go on until Apply replaces
// them, in one transaction, or until their lifetime is over. What others do to them is followed by the watch; without one only Mend looks.
func Open(name string, watch *nfttables.Watch) (*Tables, error) {
	if name == "" || len(tablePrefix+name) > unix.NFT_NAME_MAXLEN-1 {
		return nil, fmt.Errorf("spreadtables: entry %q: want a name of 1 to %d bytes", name, unix.NFT_NAME_MAXLEN-1-len(tablePrefix))
	}
	t := &Tables{name: name, abilities: ofAll()[0]}
	t.unfollow = watch.Follow(t.follow)
	return t, nil
}

// Apply makes the tables what the configuration says: in one transaction, and with what differs. The same again changes nothing. No
// connection in translation ends by it.
func (t *Tables) Apply(c Config) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	c = c.normal()
	if err := c.check(); err != nil {
		return err
	}
	if t.applied != nil {
		changes, same := difference(t.applied.render(t.abilities), c.render(t.abilities))
		if same {
			err := t.change(changes, c.Lifetime)
			if err == nil {
				t.applied = &c
				return nil
			}
			if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EEXIST) {
				return t.wrap("change", err)
			}
			// Somebody has changed them: they are made anew.
		}
	}
	return t.wrap("make", t.build(c))
}

// Renew has them go on for that time from now. It makes them anew where one of them is gone, and is an error before the first Apply.
func (t *Tables) Renew(lifetime time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.applied == nil {
		return t.wrap("renew", errors.New("nothing was applied yet"))
	}
	b := t.batch()
	for _, table := range t.applied.withoutSlots().render(t.abilities) {
		for _, s := range table.sets {
			if s.timed {
				// Before Linux 6.12 adding an element again does not start its time again.
				b.empty(table.family, s)
				b.elements(unix.NFT_MSG_NEWSETELEM, table.family, s, s.elements, lifetime)
			}
		}
	}
	until := time.Now().Add(lifetime)
	err := t.commit(b)
	switch {
	case err == nil:
		t.until = until
	case errors.Is(err, unix.ENOENT):
		c := *t.applied
		c.Lifetime = lifetime
		err = t.build(c)
	}
	return t.wrap("renew", err)
}

// Abilities are those of the kernel, as far as known from the last Apply.
func (t *Tables) Abilities() Abilities {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.abilities
	// It is there as soon as a table needs connection tracking.
	loose, err := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_tcp_loose")
	a.SecondChance = err != nil || strings.TrimSpace(string(loose)) != "0"
	return a
}

// Leave lets go of the tables and leaves them as they are, for a next run to take over or for their lifetime to end.
func (t *Tables) Leave() {
	t.unfollow()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conn.Close()
	t.applied = nil
}

// Close takes the tables away. Connections that they translate end by it, unless another table translates addresses here, too.
func (t *Tables) Close() error {
	t.unfollow()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.applied = nil
	t.conn.Close() // then nobody owns them
	_, err := nfttables.Delete(families, func(_ byte, name string) bool { return name == tablePrefix+t.name })
	return t.wrap("remove", err)
}

// build replaces all tables of the entry, those of an earlier run, too, in one transaction.
func (t *Tables) build(c Config) error {
	t.applied = nil
	if len(c.render(t.abilities)) > 0 {
		if name, err := t.conn.LinkName(c.Index); err != nil || name != c.Link {
			return ErrGone
		}
	}
	left, err := t.conn.There(families, tablePrefix+t.name)
	if err != nil {
		return err
	}
	until := time.Now().Add(c.Lifetime)
	var a Abilities
	var tables []table
	for _, a = range ofAll() {
		tables = c.render(a)
		if err = t.replace(tables, left, c.Lifetime); !lacks(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := t.remember(tables); err != nil {
		return err
	}
	t.applied, t.abilities, t.until = &c, a, until
	return nil
}

// ofAll are the abilities that a kernel may have, the most useful first. Which of them it lacks its refusal does not say.
func ofAll() []Abilities {
	return []Abilities{{Ingress: true, Sockets: true}, {Ingress: true}, {Sockets: true}, {}}
}

// lacks tells whether a transaction failed because the kernel cannot do a part of it.
func lacks(err error) bool {
	return slices.ContainsFunc([]error{unix.EOPNOTSUPP, unix.EINVAL, unix.ENOENT, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT},
		func(e error) bool { return errors.Is(err, e) })
}

func (t *Tables) replace(tables []table, left []byte, lifetime time.Duration) error {
	b := t.batch()
	for _, family := range left {
		if !slices.ContainsFunc(tables, func(t table) bool { return t.family == family }) {
			b.remove(family)
		}
	}
	for _, table := range tables {
		b.replace(table, lifetime)
	}
	return t.commit(b)
}

func (t *Tables) change(changes []change, lifetime time.Duration) error {
	b := t.batch()
	for _, c := range changes {
		b.elements(unix.NFT_MSG_DELSETELEM, c.family, c.set, c.removed, 0)
		b.elements(unix.NFT_MSG_NEWSETELEM, c.family, c.set, c.added, lifetime)
		b.slots(unix.NFT_MSG_DELSETELEM, c.family, c.set, c.gone)
		b.slots(unix.NFT_MSG_NEWSETELEM, c.family, c.set, c.put)
	}
	return t.commit(b)
}

func (t *Tables) batch() *batch { return &batch{name: tablePrefix + t.name} }

func (t *Tables) commit(b *batch) error {
	if b.err != nil || len(b.messages) == 0 {
		return b.err
	}
	if err := t.conn.Commit(b.messages); err != nil {
		return err
	}
	t.changed()
	return nil
}

func (t *Tables) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("spreadtables: %s the tables of %s: %w", what, t.name, err)
}

// normal is the same configuration in an order of its own, apart from what the caller goes on with.
func (c Config) normal() Config {
	c.Addresses = slices.SortedFunc(slices.Values(c.Addresses), netip.Addr.Compare)
	c.Ports = slices.SortedFunc(slices.Values(c.Ports), func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port))
	})
	c.Self, c.Members = slices.Clone(c.Self), slices.Clone(c.Members)
	if c.Slots != nil {
		table := *c.Slots
		table.Owner, table.Second, table.Next = slices.Clone(table.Owner), slices.Clone(table.Second), slices.Clone(table.Next)
		c.Slots = &table
	}
	return c
}

// withoutSlots is a configuration that is rendered at once, for what does not depend on slots.
func (c Config) withoutSlots() Config {
	c.Slots = nil
	return c
}

func (c Config) check() error {
	for i, p := range c.Ports {
		switch {
		case p.Protocol != unix.IPPROTO_TCP && p.Protocol != unix.IPPROTO_UDP:
			return fmt.Errorf("spreadtables: port %d: protocol %d, want %d (TCP) or %d (UDP)", p.Port, p.Protocol, unix.IPPROTO_TCP, unix.IPPROTO_UDP)
		case p.Port == 0 || p.Target == 0:
			return fmt.Errorf("spreadtables: port %d with target %d, want 1 to 65535", p.Port, p.Target)
		case i > 0 && c.Ports[i-1].Protocol == p.Protocol && c.Ports[i-1].Port == p.Port:
			return fmt.Errorf("spreadtables: port %d of protocol %d: listed twice", p.Port, p.Protocol)
		}
	}
	if c.Slots != nil && len(c.Slots.Owner) != len(c.Slots.Second) {
		return fmt.Errorf("spreadtables: %d slots have an owner and %d a second one", len(c.Slots.Owner), len(c.Slots.Second))
	}
	if c.Lifetime < time.Second {
		return fmt.Errorf("spreadtables: lifetime %s, want a second at least", c.Lifetime)
	}
	return nil
}
