package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ErrBroken: the fence is not there as it should be. Rebuild mends it.
var ErrBroken = errors.New("broken")

// Check reports whether the fence stands as it was built: nil, or an error that wraps ErrBroken and names what is missing. It costs one short
// question while nobody has changed any nftables table since the last time, and is meant to be called about once a second.
func (f *Fence) Check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// The hook follows the name, and is lost with it.
	if ifi, err := net.InterfaceByIndex(f.cfg.Index); err != nil {
		return f.wrap("check", ErrGone)
	} else if ifi.Name != f.cfg.Name {
		return f.wrap("check", fmt.Errorf("%w: the interface is now called %s", ErrBroken, ifi.Name))
	}
	now, err := generation()
	if err != nil {
		return f.wrap("check", err)
	}
	if now == f.sound {
		return nil
	}
	if err := f.inspect(); err != nil {
		return f.wrap("check", fmt.Errorf("%w: %w", ErrBroken, err))
	}
	f.sound = now
	return nil
}

// inspect compares all of the table with what it should be.
func (f *Fence) inspect() error {
	c, err := nftables.New(nftables.AsLasting())
	if err != nil {
		return err
	}
	defer func() { _ = c.CloseLasting() }()
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
	for id := range f.groups {
		rules[chainOf(id)] = len(verdicts(id, f.held[id]))
	}
	for name, n := range rules {
		if err := f.inspectChain(c, name, n); err != nil {
			return err
		}
	}
	return f.inspectSets(c)
}

func (f *Fence) inspectChain(c *nftables.Conn, name string, rules int) error {
	want := f.chain(name)
	got, err := c.ListChain(f.table, name)
	if err != nil {
		return fmt.Errorf("chain %s: %w", name, err)
	}
	if want.Hooknum != nil && (got.Hooknum == nil || *got.Hooknum != *want.Hooknum) {
		return fmt.Errorf("chain %s: not hooked", name)
	}
	have, err := c.GetRules(f.table, want)
	if err != nil {
		return fmt.Errorf("chain %s: %w", name, err)
	}
	if len(have) != rules {
		return fmt.Errorf("chain %s: %d rules, want %d", name, len(have), rules)
	}
	return nil
}

// inspectSets looks for each address, and for the guard of each tenure. A lease may be over, but its set has to be there, as rules use it.
func (f *Fence) inspectSets(c *nftables.Conn) error {
	for name, want := range addressElements(f.groups) {
		got, err := c.GetSetElements(f.addresses(name))
		if err != nil {
			return fmt.Errorf("map %s: %w", name, err)
		}
		have := make(map[string]bool, len(got))
		for _, e := range got {
			have[string(e.Key)] = true
		}
		for _, e := range want {
			if !have[string(e.Key)] {
				return fmt.Errorf("map %s: address %s is missing", name, net.IP(e.Key))
			}
		}
	}
	for id := range f.held {
		if got, err := c.GetSetElements(f.timer(guardOf(id))); err != nil || len(got) == 0 {
			return errors.Join(fmt.Errorf("set %s: the guard is missing", guardOf(id)), err)
		}
	}
	return nil
}

// generation is a number that every change of any nftables table in this network namespace adds one to.
func generation() (uint32, error) {
	const ask, answer = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN, unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWGEN
	r := nl.NewNetlinkRequest(ask, 0)
	r.AddData(&nl.Nfgenmsg{Version: nl.NFNETLINK_V0})
	msgs, err := r.Execute(unix.NETLINK_NETFILTER, answer)
	if err != nil {
		return 0, fmt.Errorf("generation of nftables: %w", err)
	}
	for _, m := range msgs {
		if len(m) < nl.SizeofNfgenmsg {
			continue
		}
		attrs, err := attributes(m[nl.SizeofNfgenmsg:])
		if v := attrs[unix.NFTA_GEN_ID]; err == nil && len(v) == 4 {
			return binary.BigEndian.Uint32(v), nil
		}
	}
	return 0, errors.New("generation of nftables: no answer")
}
