package spreadtables

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
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
	packets := chain{Name: "unknown", Rules: []match{
		and(meta(expr.MetaKeyL4PROTO, register), compare(expr.CmpOpNeq, unix.IPPROTO_TCP), accept()),
		and(tcpFlags.has(expr.CmpOpNeq, []byte{syn}, []byte{0}), accept()),
		known,
	}}
	errors := chain{Name: "unknown-errors", Rules: []match{known}}
	var more []chain
	if a.Sockets { // one on the address itself, from before it was spread; without the address none of them hears anything
		packets.Rules = append(packets.Rules, and(local(), ownSocket(), accept()))
	}
	if c.slots() > 0 {
		packets.Rules = append(packets.Rules,
			and(invalid, noting(quietly)),
			and(noted(sentOn), goTo("again")),
			noting(sentOn),
			and(f.slot(f.packet, c.slots(), c.Seed), goOn(mapSeconds)), goTo("first"))
		errors.Rules = append(errors.Rules,
			and(f.markedAtAll(expr.CmpOpEq), f.hasDSCP(expr.CmpOpNeq, allOfDSCP, markSpread), goTo("again")),
			and(f.slot(f.inError, c.slots(), c.Seed), goOn(mapSeconds)), goTo("first"))
		more = c.onward(f)
	} else {
		packets.Rules = append(packets.Rules, and(invalid, drop()))
	}
	hook := chain{
		Name: "member", Kind: "filter", Hook: unix.NF_INET_PRE_ROUTING, Priority: unknownPriority,
		Rules: []match{
			and(link, f.spread(f.packet, setPorts), forUs(), goTo(packets.Name)),
			and(link, f.isError, f.spread(f.inError, setPorts), forUs(), goTo(errors.Name)),
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
	first := chain{Name: "first", Rules: []match{and(notTCP, f.markedAtAll(expr.CmpOpNeq), fromMember(), accept()), f.mark(c.chance()), goTo("next")}}
	again := chain{Name: "again", Rules: []match{
		and(f.marked(chances[0]), goTo("nobody")),
		and(f.marked(markSpread), goTo("nobody")),
		and(f.markedAtAll(expr.CmpOpNeq), goTo("nobody")), // a switch has cleared it
	}}
	for i, mark := range chances[1:] {
		again.Rules = append(again.Rules, and(f.marked(mark), f.mark(chances[i])))
	}
	again.Rules = append(again.Rules, goTo("next"))
	return append(c.others(f), first, again,
		chain{Name: "next", Rules: []match{
			and(f.noHopsLeft(), drop()),
			and(following(mapNext), copyTo(c.Index), drop()),
			goTo("nobody"),
		}},
		chain{Name: "nobody", Rules: []match{and(protocol(unix.IPPROTO_TCP), noted(quietly), drop()), accept()}})
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
		chains = append(chains, chain{Name: chainTo(to), Rules: []match{
			and(f.hopsLeft(), f.mark(c.chance()), immediate(addressRegister, to.AsSlice()), copyTo(c.Index), drop()),
			drop(),
		}})
		if c.knows(uint8(i)) {
			chains = append(chains, chain{Name: chainToOwner(chainTo(to)), Rules: []match{
				and(notTCP, metaIs(expr.MetaKeyIIFTYPE, nativeShort(unix.ARPHRD_ETHER)...), macSource.is(m.MAC...), accept()),
				goTo(chainTo(to)),
			}})
		}
	}
	return chains
}

// seconds says where to ask about a connection that this node does not know.
func (c Config) seconds(f family) set {
	s := set{Name: mapSeconds, Key: nfttables.TypeMark, Data: nfttables.TypeVerdict, Size: c.slots()}
	s.BySlot.Value = slices.Repeat([]uint8{slots.None}, int(c.slots()))
	if c.self() == slots.None {
		return s
	}
	// First those that are sent on to, and behind them the same as owners.
	s.BySlot.Values = make([]element, 2*len(c.Members))
	for i := range c.Members {
		if to, ok := c.other(f, uint8(i)); ok {
			s.BySlot.Values[i].To, s.BySlot.Values[len(c.Members)+i].To = chainTo(to), chainToOwner(chainTo(to))
		}
	}
	self := c.self()
	for slot := range s.BySlot.Value {
		member := c.Slots.Onward(slot, self)
		if member == slots.None || int(member) >= len(c.Members) || s.BySlot.Values[member].To == "" {
			continue
		}
		s.BySlot.Value[slot] = member
		if member == c.Slots.Owner[slot] && c.knows(member) {
			s.BySlot.Value[slot] += uint8(len(c.Members))
		}
	}
	return s
}

// next says who is asked after this node.
func (c Config) next(f family) set {
	s := set{Name: mapNext, Key: nfttables.TypeLink, Data: f.address, Size: 1}
	if self := c.self(); c.Slots != nil && int(self) < len(c.Slots.Next) {
		if to, ok := c.other(f, c.Slots.Next[self]); ok {
			s.Elements = append(s.Elements, element{Key: string(native(uint32(c.Index))), Data: string(to.AsSlice())})
		}
	}
	return s
}

// The chains that send on to a member are named so that nft can read the names again.
func chainTo(a netip.Addr) string { return "to-" + strings.ReplaceAll(a.String(), ":", "-") }

func chainToOwner(to string) string { return to + "-owner" }
