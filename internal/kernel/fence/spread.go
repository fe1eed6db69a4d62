package fence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Where the load of an address is spread over the members, each of them answers for some ports of it, whether it holds the address or not:
// another table translates what comes for them to the node's own address, and back what it answers. So their packets pass the fence, lease or
// not, whatever is shut. ARP and neighbour discovery do not, by which alone a node says where the address is.
//
// That lasts for as long as the other table translates: a packet that nobody translates would be answered by a socket on the address itself.
// So what passes is a set of a group, spreadN, whose elements are timed, and which SpreadUntil renews: of a process that is gone they end by
// themselves. The chain of a group asks it first. A group without such ports has neither.

// Port is one of TCP or UDP.
type Port struct {
	Protocol uint8 // unix.IPPROTO_TCP or unix.IPPROTO_UDP
	Number   uint16
	Ends     time.Time // when its packets cease to pass, whatever the others do; zero: with them
}

// Spread are the ports of a group that each member serves.
type Spread struct {
	Ports []Port
	Until time.Time // when their packets cease to pass, as with SpreadUntil
}

func (s Spread) validate() error {
	for _, p := range s.Ports {
		if p.Number == 0 || p.Protocol != unix.IPPROTO_TCP && p.Protocol != unix.IPPROTO_UDP {
			return fmt.Errorf("spread port %d of protocol %d, want one of TCP or UDP", p.Number, p.Protocol)
		}
	}
	return nil
}

func spreadOf(id uint32) string { return fmt.Sprintf("spread%d", id) }

// The parts of a key lie in 4 bytes each.
const (
	registerProtocol = unix.NFT_REG32_01
	registerPort     = unix.NFT_REG32_02
)

// spreadRules let the packets of spread ports pass. What has no ports, such as ARP and ICMPv6, is in no such set.
func spreadRules(id uint32) []match {
	passes := func(w way, port uint32) match {
		return and(w.load(), match{
			&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: registerProtocol},
			&expr.Payload{OperationType: expr.PayloadLoad, DestRegister: registerPort, Base: expr.PayloadBaseTransportHeader, Offset: port, Len: 2},
			&expr.Lookup{SourceRegister: register, SetName: spreadOf(id)},
		}, verdict(expr.VerdictAccept, ""))
	}
	const source, destination = 0, 2
	return []match{passes(incoming, destination), passes(outgoing, source)}
}

// rules is the chain of a group.
func (t *linkTable) rules(g Group) []match {
	rules := verdicts(g.ID, t.canStandBy(), t.routes)
	if len(g.Spread.Ports) > 0 {
		return append(spreadRules(g.ID), rules...)
	}
	return rules
}

// putSpread makes the set of a group that has one what it should be.
func (t *linkTable) putSpread(c *nftables.Conn, g Group) error {
	set, err := t.spread(g.ID)
	if err != nil {
		return err
	}
	c.FlushSet(set) // before Linux 6.12 adding an element again does not start its time again
	if elements := t.spreadElements(g, time.Now()); len(elements) > 0 {
		return c.SetAddElements(set, elements)
	}
	return nil
}

// spreadElements are those whose time is not over.
func (t *linkTable) spreadElements(g Group, now time.Time) []nftables.SetElement {
	var out []nftables.SetElement
	for _, p := range g.Spread.Ports {
		left := g.Spread.until(p).Sub(now)
		if left < time.Millisecond { // 0 would be for ever
			continue
		}
		key := append(slices.Clone(t.key()), p.Protocol, 0, 0, 0)
		out = append(out, nftables.SetElement{Key: append(binary.BigEndian.AppendUint16(key, p.Number), 0, 0), Timeout: left})
	}
	return out
}

// until is when packets of a port cease to pass. Of one that ends nobody renews that.
func (s Spread) until(p Port) time.Time {
	if p.Ends.IsZero() {
		return s.Until
	}
	return p.Ends
}

// addSpread adds the set of a group.
func (t *linkTable) addSpread(c *nftables.Conn, g Group) error {
	if len(g.Spread.Ports) == 0 {
		return nil
	}
	set, err := t.spread(g.ID)
	if err != nil {
		return err
	}
	return errors.Join(c.AddSet(set, nil), t.putSpread(c, g))
}

// changeSpread changes the ports of a group that stays. Those that stay go on to pass for as long as they did.
func (t *linkTable) changeSpread(c *nftables.Conn, old, g Group) error {
	switch before, after := len(old.Spread.Ports) > 0, len(g.Spread.Ports) > 0; {
	case before && after:
		return t.putSpread(c, g)
	case !before && !after:
		return nil
	}
	chain := t.chain(chainOf(g.ID))
	c.FlushChain(chain)
	err := t.addSpread(c, g)
	addRules(c, chain, t.rules(g))
	return errors.Join(err, t.deleteSpread(c, old))
}

// deleteSpread takes away the set of a group, after the rules that ask it.
func (t *linkTable) deleteSpread(c *nftables.Conn, g Group) error {
	if len(g.Spread.Ports) == 0 {
		return nil
	}
	set, err := t.spread(g.ID)
	c.DelSet(set)
	return err
}

// spreadUntil lets packets of a group's spread ports pass until then: for as long as the kernel goes on translating them if this process is
// gone. With the zero Time they are fenced as everything else is. It does nothing for a group without such ports.
func (f *linkFence) spreadUntil(id uint32, until time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, err := f.want.group(id)
	if err != nil {
		return f.wrap("spread", err)
	}
	if len(g.Spread.Ports) == 0 {
		return nil
	}
	g.Spread.Until = until
	if err := f.kernel.commit(func(c *nftables.Conn) error { return f.kernel.tables.link.putSpread(c, g) }); err != nil {
		return f.wrap("spread", err)
	}
	f.want.spreadUntil(id, until)
	return nil
}
