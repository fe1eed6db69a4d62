package link

import (
	"bytes"
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
	for _, ch := range f.chains() {
		if err := f.inspectChain(c, ch); err != nil {
			return err
		}
	}
	return f.inspectSets(c)
}

func (f *Fence) inspectChain(c *nftables.Conn, want chain) error {
	got, err := c.ListChain(f.table, want.name)
	if err != nil {
		return fmt.Errorf("chain %s: %w", want.name, err)
	}
	if hook := f.chain(want.name).Hooknum; hook != nil && (got.Hooknum == nil || *got.Hooknum != *hook) {
		return fmt.Errorf("chain %s: not hooked", want.name)
	}
	rules, err := c.GetRules(f.table, f.chain(want.name))
	if err != nil {
		return fmt.Errorf("chain %s: %w", want.name, err)
	}
	n := len(want.rules)
	if want.name == chainAdverts {
		n = len(f.renewals(f.groups))
	}
	if len(rules) != n {
		return fmt.Errorf("chain %s: %d rules, want %d", want.name, len(rules), n)
	}
	return nil
}

func (f *Fence) inspectSets(c *nftables.Conn) error {
	want := f.addressElements(f.groups)
	for id := range f.held {
		want[setGuard] = append(want[setGuard], nftables.SetElement{Key: groupKey(id)})
	}
	for name, elements := range want {
		got, err := c.GetSetElements(f.set(name))
		if err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
		value := make(map[string][]byte, len(got))
		for _, e := range got {
			value[string(e.Key)] = e.Val
		}
		for _, e := range elements {
			if v, ok := value[string(e.Key)]; !ok || !bytes.Equal(v, e.Val) {
				return fmt.Errorf("set %s: element %x is missing", name, e.Key)
			}
		}
	}
	// The lease may be empty, but has to be there.
	if _, err := c.GetSetByName(f.table, setLease); err != nil {
		return fmt.Errorf("set %s: %w", setLease, err)
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
