package intercept

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/conntrack"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// Table are the nftables tables of one entry. The methods may be called from any goroutine.
type Table struct {
	name  string
	start uint32 // where turns begin

	mu      sync.Mutex
	conn    nfttables.Conn
	applied *Config   // nil: not known
	tables  []table   // what the kernel has of it
	until   time.Time // when that ends

	unfollow func() // ends the look after changes of others; set once
}

const tablePrefix = "keepvip-intercept-"

// Open takes charge of the tables of that entry, and changes nothing yet: those that an earlier run has left go on until Apply replaces
// them, in one transaction, or until their lifetime is over. One that others delete is made anew when the watch tells of it; without a watch Renew does.
func Open(name string, watch *nfttables.Watch) (*Table, error) {
	if name == "" || len(tablePrefix+name) > unix.NFT_NAME_MAXLEN-1 {
		return nil, fmt.Errorf("intercept: entry %q: want a name of 1 to %d bytes", name, unix.NFT_NAME_MAXLEN-1-len(tablePrefix))
	}
	t := &Table{name: name, start: rand.Uint32()}
	t.unfollow = watch.Follow(t.follow)
	return t, nil
}

// Apply makes the tables what the configuration says: in one transaction, and with what differs. The same again changes nothing. No
// connection ends by it, whatever becomes of its backend.
func (t *Table) Apply(c Config) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := c.check(); err != nil {
		return err
	}
	next := c.render(t.start)
	if t.applied == nil || !sameHooks(t.tables, next) {
		return t.wrap("make", t.build(c))
	}
	if !reflect.DeepEqual(t.tables, next) {
		if err := t.commit(c.Lifetime, func(x *transaction) { x.differences(t.tables, next) }); err != nil {
			// Somebody has changed them, or this kernel cannot let go of all of it at once: they are made anew.
			return t.wrap("change", t.build(c))
		}
	}
	t.applied, t.tables = c.clone(), next
	return nil
}

// Renew has them go on for that time from now. It makes them anew where one of them is gone, and is an error before the first Apply.
func (t *Table) Renew(lifetime time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.applied == nil {
		return t.wrap("renew", errors.New("nothing was applied yet"))
	}
	err := t.commit(lifetime, func(x *transaction) {
		for _, table := range t.tables {
			x.renew(table)
		}
	})
	if errors.Is(err, unix.ENOENT) {
		c := *t.applied
		c.Lifetime = lifetime
		err = t.build(c)
	}
	return t.wrap("renew", err)
}

// follow makes the tables anew where one is gone. What is refused the next Renew says.
func (t *Table) follow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.applied == nil {
		return
	}
	for _, table := range t.tables {
		if _, err := t.conn.Table(nfttables.ID{Family: table.family, Name: tablePrefix + t.name}); errors.Is(err, unix.ENOENT) {
			c := *t.applied
			c.Lifetime = max(time.Until(t.until), time.Second)
			_ = t.build(c)
			return
		}
	}
}

// Leave lets go of the tables and leaves them as they are, for a next run to take over or for their lifetime to end.
func (t *Table) Leave() {
	t.unfollow()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conn.Close()
	t.applied, t.tables = nil, nil
}

// Close takes the tables away. New connections go to the virtual address by the network from then on. Those that were translated go on where
// another table of this host translates addresses, too, as kube-proxy's do. Elsewhere the kernel ceases to translate with the last table, so
// they are ended, as by Destroy. Leave spares them.
func (t *Table) Close() error {
	t.unfollow()
	t.mu.Lock()
	defer t.mu.Unlock()
	applied := t.applied
	t.applied, t.tables = nil, nil
	t.conn.Close() // then nobody owns them
	_, err := nfttables.Delete(families, func(_ byte, name string) bool { return name == tablePrefix+t.name })
	if err == nil && applied != nil {
		err = applied.endOrphans()
	}
	return t.wrap("remove", err)
}

// endOrphans ends the connections that nobody translates any more.
func (c *Config) endOrphans() error {
	orphans := map[bool]bool{}
	for _, l := range layouts {
		others, err := translates(l.family)
		if err != nil {
			return err
		}
		orphans[l.family == unix.NFPROTO_IPV4] = !others
	}
	if !orphans[true] && !orphans[false] {
		return nil
	}
	_, err := c.end(func(e conntrack.Entry) bool { return orphans[e.Dest.Addr().Is4()] })
	return err
}

// build replaces all tables of the entry, those of an earlier run, too, in one transaction.
func (t *Table) build(c Config) error {
	t.applied, t.tables = nil, nil
	left, err := t.conn.There(families, tablePrefix+t.name)
	if err != nil {
		return err
	}
	tables := c.render(t.start)
	err = t.commit(c.Lifetime, func(x *transaction) {
		for _, family := range left {
			if !slices.ContainsFunc(tables, func(t table) bool { return t.family == family }) {
				x.remove(family)
			}
		}
		for _, table := range tables {
			x.replace(table)
		}
	})
	if err != nil {
		return err
	}
	t.applied, t.tables = c.clone(), tables
	return nil
}

// sameHooks tells whether one rendering can be made of the other without its tables being made anew.
func sameHooks(before, after []table) bool {
	return slices.EqualFunc(before, after, func(b, a table) bool {
		return b.family == a.family && slices.Equal(b.addresses, a.addresses) && reflect.DeepEqual(b.hooks, a.hooks)
	})
}

func (x *transaction) differences(before, after []table) {
	for i := range after {
		if !reflect.DeepEqual(before[i], after[i]) {
			x.change(before[i], after[i])
		}
	}
}

func (t *Table) commit(lifetime time.Duration, fill func(*transaction)) error {
	messages, err := nfttables.Encode(func(c *nftables.Conn) error {
		x := &transaction{Conn: c, name: tablePrefix + t.name, lifetime: lifetime}
		fill(x)
		return x.err
	})
	if err != nil {
		return err
	}
	until := time.Now().Add(lifetime)
	if err = t.conn.Commit(messages); err == nil {
		t.until = until
	}
	return err
}

func (t *Table) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("intercept: %s the tables of %s: %w", what, t.name, err)
}

// clone is the same configuration, apart from what the caller goes on with.
func (c Config) clone() *Config {
	c.Self, c.Uplinks, c.Targets = slices.Clone(c.Self), slices.Clone(c.Uplinks), slices.Clone(c.Targets)
	for i := range c.Targets {
		c.Targets[i].Backends = slices.Clone(c.Targets[i].Backends)
	}
	return &c
}
