package intercept

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/conntrack"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// Table are the nftables tables of one entry. The methods may be called from any goroutine.
type Table struct {
	name   string
	start  uint32 // where turns begin
	keeper *nfttables.Keeper

	applied atomic.Pointer[Config] // the newest; nil: nothing yet, or no more
}

const tablePrefix = "keepvip-intercept-"

// Open takes charge of the tables of that entry, and changes nothing yet: those that an earlier run has left go on
// until Apply replaces them, in one transaction, or until their lifetime is over. What others do to them is followed by
// the watch; without one Renew makes anew what is gone.
func Open(name string, watch *nfttables.Watch) (*Table, error) {
	if most := unix.NFT_NAME_MAXLEN - 1 - len(tablePrefix); name == "" || len(name) > most {
		return nil, fmt.Errorf("intercept: entry %q: want a name of 1 to %d bytes", name, most)
	}
	k, err := nfttables.Keep(tablePrefix+name, families, forms, watch)
	return &Table{name: name, start: rand.Uint32(), keeper: k}, err
}

// Apply makes the tables what the configuration says, in one transaction. The same again changes nothing. No connection
// ends by it, whatever becomes of its backend.
func (t *Table) Apply(c Config) error {
	if err := c.check(); err != nil {
		return err
	}
	wanted := c.clone()
	err := t.keeper.Apply(nfttables.Wanted{Render: func(form int) []nfttables.Table { return wanted.render(t.start, form) }}, c.Lifetime)
	if err == nil {
		t.applied.Store(wanted)
	}
	return t.wrap("make", err)
}

// Renew has them go on for that time from now. It makes them anew where one of them is gone, and is an error before the
// first Apply.
func (t *Table) Renew(lifetime time.Duration) error { return t.wrap("renew", t.keeper.Renew(lifetime)) }

// Leave lets go of the tables, for good, and leaves them as they are, for a next run to take over or for their lifetime
// to end.
func (t *Table) Leave() {
	t.applied.Store(nil)
	t.keeper.Leave()
}

// Close takes the tables away, for good. New connections go to the virtual address by the network from then on. Those
// that were translated go on where another table of this host translates addresses, too, as kube-proxy's do. Elsewhere
// the kernel ceases to translate with the last table, so they are ended, as by Destroy. Leave spares them.
func (t *Table) Close() error {
	applied := t.applied.Swap(nil)
	err := t.keeper.Close()
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

func (t *Table) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("intercept: %s the tables of %s: %w", what, t.name, err)
}

// clone is the same configuration, apart from what the caller goes on with.
func (c Config) clone() *Config {
	c.Targets = slices.Clone(c.Targets)
	for i := range c.Targets {
		c.Targets[i].Backends = slices.Clone(c.Targets[i].Backends)
	}
	return &c
}
