package spreadtables

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"golang.org/x/sys/unix"
)

// Tables are the nftables tables of one entry. The methods may be called from any goroutine.
type Tables struct {
	name   string
	keeper *nfttables.Keeper

	applied atomic.Pointer[connections] // to what the newest Apply has spread; nil: nothing yet, or no more
}

const tablePrefix = "keepvip-spread-"

// errGone means that the interface is not there, or has another name by now.
var errGone = errors.New("spreadtables: the interface is gone")

// Open takes charge of the tables of that entry, and changes nothing yet: those that an earlier run has left go on
// until Apply replaces them, in one transaction, or until their lifetime is over. What others do to them is followed by
// the watch; without one only Mend looks.
func Open(name string, watch *nfttables.Watch) (*Tables, error) {
	if most := unix.NFT_NAME_MAXLEN - 1 - len(tablePrefix); name == "" || len(name) > most {
		return nil, fmt.Errorf("spreadtables: entry %q: want a name of 1 to %d bytes", name, most)
	}
	k, err := nfttables.Keep(tablePrefix+name, families, len(ofAll()), watch)
	return &Tables{name: name, keeper: k}, err
}

// Apply makes the tables what the configuration says: in one transaction, and with what differs. The same again changes
// nothing. No connection in translation ends by it.
func (t *Tables) Apply(c Config) error {
	c = c.normal()
	if err := c.check(); err != nil {
		return err
	}
	err := t.keeper.Apply(nfttables.Wanted{Render: func(form int) []table { return c.render(ofAll()[form]) }, Ready: c.hasLink}, c.Lifetime)
	if err == nil {
		t.applied.Store(c.connections())
	}
	return t.wrap("make", err)
}

// hasLink tells whether the link is there, and is called so yet.
func (c *Config) hasLink(conn *nfttables.Conn) error {
	if name, err := conn.LinkName(c.Index); err != nil || name != c.Link {
		return errGone
	}
	return nil
}

// Renew has them go on for that time from now. It makes them anew where one of them is gone, and is an error before the
// first Apply.
func (t *Tables) Renew(lifetime time.Duration) error {
	return t.wrap("renew", t.keeper.Renew(lifetime))
}

// Mend makes anew what somebody has deleted or changed, and says whether that was done since it was asked last. As long
// as nobody changes anything it is one short question, which may be asked twice a second. It is an error before the
// first Apply.
func (t *Tables) Mend() (mended bool, err error) {
	mended, err = t.keeper.Mend()
	return mended, t.wrap("mend", err)
}

// Abilities are those of the kernel, as far as known from the last Apply.
func (t *Tables) Abilities() Abilities {
	a := ofAll()[t.keeper.Form()]
	// It is there as soon as a table needs connection tracking.
	loose, err := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_tcp_loose")
	a.SecondChance = err != nil || strings.TrimSpace(string(loose)) != "0"
	return a
}

// Leave lets go of the tables, for good, and leaves them as they are, for a next run to take over or for their lifetime
// to end.
func (t *Tables) Leave() {
	t.applied.Store(nil)
	t.keeper.Leave()
}

// Close takes the tables away, for good. Connections that they translate end by it, unless another table translates
// addresses here, too.
func (t *Tables) Close() error {
	t.applied.Store(nil)
	return t.wrap("remove", t.keeper.Close())
}

// ofAll are the abilities that a kernel may have, the most useful first. Which of them it lacks its refusal does not
// say.
func ofAll() []Abilities {
	return []Abilities{{Ingress: true, Sockets: true}, {Ingress: true}, {Sockets: true}, {}}
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
