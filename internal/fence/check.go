package fence

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// ErrBroken: the fence is not there as it should be. Rebuild mends it.
var ErrBroken = errors.New("broken")

// Verify reports whether the fence is in place as it was built: nil, or an error that wraps ErrBroken and names what is missing. It costs one short
// question while nobody has changed any nftables table since the last time, and is meant to be called about once a second.
func (f *Fence) Verify() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// The hook follows the name, and is lost with it.
	if name, err := f.socket.nameOf(f.index); errors.Is(err, unix.ENODEV) {
		return f.wrap("check", ErrGone)
	} else if err != nil {
		return f.wrap("check", err)
	} else if name != f.device {
		return f.wrap("check", fmt.Errorf("%w: the interface is now called %s", ErrBroken, name))
	}
	now, err := f.socket.generation()
	if err != nil {
		return f.wrap("check", err)
	}
	// If nobody but this fence has changed anything since all was well, all is well: no need to look.
	if now == f.sound+f.own {
		f.sound, f.own = now, 0
		return nil
	}
	if err := f.inspect(); err != nil {
		f.socket.close() // an answer may be half read
		return f.wrap("check", fmt.Errorf("%w: %w", ErrBroken, err))
	}
	f.sound, f.own = now, 0
	return nil
}

// Guarded reports whether a group has its guard: nil, or an error that wraps ErrBroken. Together with Verify it says that the kernel ends the
// group's lease by itself. It asks nobody.
func (f *Fence) Guarded(id uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	end, held := f.guards[id]
	switch {
	case !held:
		return f.wrap("check", fmt.Errorf("%w: group %d has no guard", ErrBroken, id))
	case !time.Now().Before(end):
		return f.wrap("check", fmt.Errorf("%w: the guard of group %d ended at %s", ErrBroken, id, end.Format(time.TimeOnly)))
	}
	return nil
}

// inspect compares all of the table with what it should be.
func (f *Fence) inspect() error {
	c, err := f.socket.tables()
	if err != nil {
		return err
	}
	families := familiesOf(f.groups)
	rules := map[string]int{chainIngress: len(families.ingress())}
	if f.egress {
		rules[chainEgress], rules[chainAdverts] = len(families.egress()), 0
		for _, g := range f.groups {
			if renewal(g) != nil {
				rules[chainAdverts]++
			}
		}
	}
	for id, g := range f.groups {
		rules[chainOf(id)] = len(f.rules(g))
	}
	for name, n := range rules {
		if err := inspectChain(c, f.chain(name), n); err != nil {
			return err
		}
	}
	return errors.Join(f.inspectSets(c), f.inspectSpread(c), f.inspectARP(c))
}

func inspectChain(c *nftables.Conn, want *nftables.Chain, rules int) error {
	got, err := c.ListChain(want.Table, want.Name)
	if err != nil {
		return fmt.Errorf("chain %s: %w", want.Name, err)
	}
	if want.Hooknum != nil && (got.Hooknum == nil || *got.Hooknum != *want.Hooknum) {
		return fmt.Errorf("chain %s: not hooked", want.Name)
	}
	have, err := c.GetRules(want.Table, want)
	if err != nil {
		return fmt.Errorf("chain %s: %w", want.Name, err)
	}
	if len(have) != rules {
		return fmt.Errorf("chain %s: %d rules, want %d", want.Name, len(have), rules)
	}
	return nil
}

// inspectAddresses looks for each address.
func inspectAddresses(c *nftables.Conn, s *nftables.Set, want []nftables.SetElement) error {
	got, err := c.GetSetElements(s)
	if err != nil {
		return fmt.Errorf("map %s: %w", s.Name, err)
	}
	have := make(map[string]bool, len(got))
	for _, e := range got {
		have[string(e.Key)] = true
	}
	for _, e := range want {
		if !have[string(e.Key)] {
			return fmt.Errorf("map %s: address %s is missing", s.Name, net.IP(e.Key))
		}
	}
	return nil
}

// inspectSets looks for each address, and for the guard of each group that is held. A lease may be over, but its set has to be there, as rules use it.
func (f *Fence) inspectSets(c *nftables.Conn) error {
	for name, want := range addressElements(f.groups) {
		if err := inspectAddresses(c, f.addresses(name), want); err != nil {
			return err
		}
	}
	for id, end := range f.standby {
		if got, err := c.GetSetElements(f.timer(standbyOf(id))); err != nil || len(got) == 0 && time.Now().Before(end) {
			return errors.Join(fmt.Errorf("set %s: the guard is missing", standbyOf(id)), err)
		}
	}
	for id, shut := range f.held {
		if got, err := c.GetSetElements(f.timer(guardOf(id))); err != nil || len(got) == 0 {
			return errors.Join(fmt.Errorf("set %s: the guard is missing", guardOf(id)), err)
		}
		for part, name := range shutSets(id) {
			got, err := c.GetSetElements(f.toggle(name))
			if err != nil || (len(got) > 0) != (shut&part != 0) {
				return errors.Join(fmt.Errorf("set %s: %d elements, want what was shut", name, len(got)), err)
			}
		}
	}
	return nil
}
