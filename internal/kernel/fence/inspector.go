package fence

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/google/nftables"
)

// inspector compares what the kernel has of a fence with what it should be. It changes neither.
type inspector struct {
	c      *nftables.Conn
	tables *tables
	want   *wanted
}

// all compares all of the tables.
func (i inspector) all() error {
	l := &i.tables.link
	families := familiesOf(i.want.groups)
	rules := map[string]int{chainIngress: len(families.ingress())}
	if l.egress {
		rules[chainEgress], rules[chainAdverts] = len(l.egressRules(i.want.groups)), 0
		if l.ends() {
			rules[chainEnded] = len(i.want.groups)
		}
		for _, g := range i.want.groups {
			if renewal(g) != nil {
				rules[chainAdverts]++
			}
		}
	}
	for id, g := range i.want.groups {
		rules[chainOf(id)] = len(l.rules(g))
	}
	for name, n := range rules {
		if err := i.chain(l.chain(name), n); err != nil {
			return err
		}
	}
	return errors.Join(i.sets(), i.spread(), i.arp())
}

func (i inspector) chain(want *nftables.Chain, rules int) error {
	got, err := i.c.ListChain(want.Table, want.Name)
	if err != nil {
		return fmt.Errorf("chain %s: %w", want.Name, err)
	}
	if want.Hooknum != nil && (got.Hooknum == nil || *got.Hooknum != *want.Hooknum) {
		return fmt.Errorf("chain %s: not hooked", want.Name)
	}
	have, err := i.c.GetRules(want.Table, want)
	if err != nil {
		return fmt.Errorf("chain %s: %w", want.Name, err)
	}
	if len(have) != rules {
		return fmt.Errorf("chain %s: %d rules, want %d", want.Name, len(have), rules)
	}
	return nil
}

// addresses looks for each address.
func (i inspector) addresses(s *nftables.Set, want []nftables.SetElement) error {
	got, err := i.c.GetSetElements(s)
	if err != nil {
		return fmt.Errorf("map %s: %w", s.Name, err)
	}
	have := make(map[string]bool, len(got))
	for _, e := range got {
		have[string(e.Key)] = true
	}
	for _, e := range want {
		if !have[string(e.Key)] {
			return fmt.Errorf("map %s: address %s is missing", s.Name, addressText(e.Key))
		}
	}
	return nil
}

func addressText(key []byte) string {
	if a, ok := netip.AddrFromSlice(key); ok {
		return a.String()
	}
	return net.HardwareAddr(key).String()
}

// sets looks for each address, and for the guard of each group that is held. A lease may be over, but its set has to be there, as rules use it.
func (i inspector) sets() error {
	l := &i.tables.link
	for name, want := range addressElements(i.want.groups) {
		if err := i.addresses(l.addresses(name), want); err != nil {
			return err
		}
	}
	for id, end := range i.want.standby {
		if got, err := i.c.GetSetElements(l.timer(standbyOf(id))); err != nil || len(got) == 0 && time.Now().Before(end) {
			return errors.Join(fmt.Errorf("set %s: the guard is missing", standbyOf(id)), err)
		}
	}
	for id, shut := range i.want.held {
		if got, err := i.c.GetSetElements(l.timer(guardOf(id))); err != nil || len(got) == 0 {
			return errors.Join(fmt.Errorf("set %s: the guard is missing", guardOf(id)), err)
		}
		for part, name := range shutSets(id) {
			got, err := i.c.GetSetElements(l.toggle(name))
			if err != nil || (len(got) > 0) != (shut&part != 0) {
				return errors.Join(fmt.Errorf("set %s: %d elements, want what was shut", name, len(got)), err)
			}
		}
	}
	return nil
}

// spread looks for the ports of each group. Those whose time may be over need not be there.
func (i inspector) spread() error {
	l := &i.tables.link
	for _, g := range i.want.groups {
		if len(g.Spread.Ports) == 0 {
			continue
		}
		set, err := l.spread(g.ID)
		if err != nil {
			return err
		}
		got, err := i.c.GetSetElements(set)
		if want := len(l.spreadElements(g, time.Now())); err != nil || len(got) < want {
			return errors.Join(fmt.Errorf("set %s: %d ports, want %d", set.Name, len(got), want), err)
		}
	}
	return nil
}

// arp compares all of the table of the arp family.
func (i inspector) arp() error {
	t := &i.tables.arp
	if !t.able {
		return nil
	}
	if err := i.chain(t.chain(chainInput), 1); err != nil {
		return err
	}
	for id := range i.want.groups {
		if err := i.chain(t.chain(chainOf(id)), 1); err != nil {
			return err
		}
	}
	if err := i.addresses(t.addresses(), addressElements(i.want.groups)[mapAddresses4]); err != nil {
		return err
	}
	for id := range i.want.held {
		if got, err := i.c.GetSetElements(t.guard(id)); err != nil || len(got) == 0 {
			return errors.Join(fmt.Errorf("table arp: set %s: the guard is missing", guardOf(id)), err)
		}
	}
	return nil
}
