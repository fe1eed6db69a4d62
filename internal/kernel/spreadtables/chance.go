package spreadtables

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/members/slots"
)

const (
	fin = 0x01
	syn = 0x02
	rst = 0x04
	ack = 0x10
)

var tcpFlags = transport(13, 1)

// unknown gives packets of connections that are not known here to the members that may know them: first to one by the slot, and from there
// on from each to the next. The last one answers it.
//
// What connection tracking calls invalid is out of the window of a connection here, or of what is left of an older one with the same
// ports. It goes the same way, but quietly: only who knows the connection takes it, and the last one drops it. Answered by a reset it would end
// a healthy connection. A FIN or RST of a connection that is not known is called invalid as well.
func (c Config) unknown(f family, a Abilities) []chain {
	link := comesIn(expr.CmpOpEq, c.Index)
	known := and(state(expr.CmpOpNeq, expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED), accept())
	invalid := state(expr.CmpOpNeq, expr.CtStateBitINVALID)
	packets := chain{name: "unknown", rules: []match{
		and(meta(expr.MetaKeyL4PROTO, register), compare(expr.CmpOpNeq, unix.IPPROTO_TCP), accept()),
		and(tcpFlags.has(expr.CmpOpNeq, []byte{syn}, []byte{0}), accept()),
		known,
	}}
	errors := chain{name: "unknown-errors", rules: []match{known}}
	var more []chain
	if a.Sockets { // one on the address itself, from before it was spread; without the address none of them hears anything
		packets.rules = append(packets.rules, and(local(), ownSocket(), accept()))
	}
	if c.slots() > 0 {
		packets.rules = append(packets.rules,
			and(invalid, noting(quietly)),
			and(noted(sentOn), goTo("again")),
			noting(sentOn),
			and(f.slot(f.packet, c.slots(), c.Seed), goOn(mapSeconds)), goTo("first"))
		errors.rules = append(errors.rules,
			and(f.markedAtAll(expr.CmpOpEq), f.hasDSCP(expr.CmpOpNeq, allOfDSCP, markSpread), goTo("again")),
			and(f.slot(f.inError, c.slots(), c.Seed), goOn(mapSeconds)), goTo("first"))
		more = c.onward(f)
	} else {
		packets.rules = append(packets.rules, and(invalid, drop()))
	}
	hook := chain{
		name: "member", kind: "filter", hook: unix.NF_INET_PRE_ROUTING, priority: unknownPriority,
		rules: []match{
			and(link, f.spread(f.packet, setPorts), forUs(), goTo(packets.name)),
			and(link, f.isError, f.spread(f.inError, setPorts), forUs(), goTo(errors.name)),
		},
	}
	return append(more, packets, errors, hook)
}

// Two of the reserved bits of TCP's header (RFC 9293 3.1), which nobody else sees: no switch clears them, and a host ignores them.
const (
	sentOn  = 0x08 // it comes from a member that does not know the connection
	quietly = 0x04 // nobody answers it who does not know the connection
)

var tcpReserved = transport(12, 1)

// noted ends the rule unless the bit is set.
func noted(bit byte) match { return tcpReserved.has(expr.CmpOpNeq, []byte{bit}, []byte{0}) }

// noting sets the bit.
func noting(bit byte) match {
	return transport(12, 2).change([]byte{^bit, 0xff}, []byte{bit, 0}, expr.Payload{CsumType: expr.CsumTypeInet, CsumOffset: 16})
}

// onward are the chains that send packets on to other members.
func (c Config) onward(f family) []chain {
	notTCP := and(meta(expr.MetaKeyL4PROTO, register), compare(expr.CmpOpNeq, unix.IPPROTO_TCP))
	// Nobody owns the slot, and this node was the one to ask. Of what is not TCP only the mark says that it was sent on, and a switch may
	// clear it.
	first := chain{name: "first", rules: []match{and(notTCP, f.markedAtAll(expr.CmpOpNeq), fromMember(), accept()), f.mark(c.chance()), goTo("next")}}
	again := chain{name: "again", rules: []match{
		and(f.marked(chances[0]), goTo("nobody")),
		and(f.marked(markSpread), goTo("nobody")),
		and(f.markedAtAll(expr.CmpOpNeq), goTo("nobody")), // a switch has cleared it
	}}
	for i, mark := range chances[1:] {
		again.rules = append(again.rules, and(f.marked(mark), f.mark(chances[i])))
	}
	again.rules = append(again.rules, goTo("next"))
	return append(c.others(f), first, again,
		chain{name: "next", rules: []match{
			and(f.noHopsLeft(), drop()),
			and(following(mapNext), copyTo(c.Index), drop()),
			goTo("nobody"),
		}},
		chain{name: "nobody", rules: []match{and(protocol(unix.IPPROTO_TCP), noted(quietly), drop()), accept()}})
}

// chance is the mark of a packet that all members are to have.
func (c Config) chance() byte {
	return chances[min(max(slots.Chances(len(c.Members)), 1), len(chances))-1]
}

// others are the chains that send a packet on to a member by its slot. What is not TCP, goes to the owner of its slot, and has just come
// from there stays here also where a switch has taken the mark away.
func (c Config) others(f family) []chain {
	var chains []chain
	notTCP := and(meta(expr.MetaKeyL4PROTO, register), compare(expr.CmpOpNeq, unix.IPPROTO_TCP))
	for i, m := range c.Members {
		to, ok := c.other(f, uint8(i))
		if !ok {
			continue
		}
		chains = append(chains, chain{name: chainTo(to), rules: []match{
			and(f.hopsLeft(), f.mark(c.chance()), immediate(addressRegister, to.AsSlice()), copyTo(c.Index), drop()),
			drop(),
		}})
		if c.knows(uint8(i)) {
			chains = append(chains, chain{name: chainToOwner(chainTo(to)), rules: []match{
				and(notTCP, metaIs(expr.MetaKeyIIFTYPE, nativeShort(unix.ARPHRD_ETHER)...), macSource.is(m.MAC...), accept()),
				goTo(chainTo(to)),
			}})
		}
	}
	return chains
}

// seconds says where to ask about a connection that this node does not know.
func (c Config) seconds(f family) set {
	s := set{name: mapSeconds, key: typeMark, data: typeVerdict, size: c.slots()}
	s.bySlot.value = slices.Repeat([]uint8{slots.None}, int(c.slots()))
	if c.self() == slots.None {
		return s
	}
	// First those that are sent on to, and behind them the same as owners.
	s.bySlot.values = make([]element, 2*len(c.Members))
	for i := range c.Members {
		if to, ok := c.other(f, uint8(i)); ok {
			s.bySlot.values[i].to, s.bySlot.values[len(c.Members)+i].to = chainTo(to), chainToOwner(chainTo(to))
		}
	}
	self := c.self()
	for slot := range s.bySlot.value {
		member := c.Slots.Onward(slot, self)
		if member == slots.None || int(member) >= len(c.Members) || s.bySlot.values[member].to == "" {
			continue
		}
		s.bySlot.value[slot] = member
		if member == c.Slots.Owner[slot] && c.knows(member) {
			s.bySlot.value[slot] += uint8(len(c.Members))
		}
	}
	return s
}

// next says who is asked after this node.
func (c Config) next(f family) set {
	s := set{name: mapNext, key: typeLink, data: f.address, size: 1}
	if self := c.self(); c.Slots != nil && int(self) < len(c.Slots.Next) {
		if to, ok := c.other(f, c.Slots.Next[self]); ok {
			s.elements = append(s.elements, element{key: string(native(uint32(c.Index))), data: string(to.AsSlice())})
		}
	}
	return s
}

// The chains that send on to a member are named so that nft can read the names again.
func chainTo(a netip.Addr) string { return "to-" + strings.ReplaceAll(a.String(), ":", "-") }

func chainToOwner(to string) string { return to + "-owner" }
