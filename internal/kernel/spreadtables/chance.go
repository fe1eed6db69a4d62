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
func (c Config) unknown(r roster, a Abilities) []chain {
	f, link := r.family, comesIn(expr.CmpOpEq, c.Index)
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
	if r.size() > 0 {
		packets.Rules = append(packets.Rules,
			and(invalid, noting(quietly)),
			and(noted(sentOn), goTo("again")),
			noting(sentOn),
			and(f.slot(f.packet, r.size(), c.Seed), goOn(mapSeconds)), goTo("first"))
		errors.Rules = append(errors.Rules,
			and(f.markedAtAll(expr.CmpOpEq), f.hasDSCP(expr.CmpOpNeq, allOfDSCP, markSpread), goTo("again")),
			and(f.slot(f.inError, r.size(), c.Seed), goOn(mapSeconds)), goTo("first"))
		more = c.onward(r)
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
func (c Config) onward(r roster) []chain {
	f := r.family
	notTCP := and(meta(expr.MetaKeyL4PROTO, register), compare(expr.CmpOpNeq, unix.IPPROTO_TCP))
	// Nobody owns the slot, and this node was the one to ask. Of what is not TCP only the mark says that it was sent on, and a switch may
	// clear it.
	first := chain{Name: "first", Rules: []match{and(notTCP, f.markedAtAll(expr.CmpOpNeq), fromMember(), accept()), f.mark(r.chance()), goTo("next")}}
	again := chain{Name: "again", Rules: []match{
		and(f.marked(chances[0]), goTo("nobody")),
		and(f.marked(markSpread), goTo("nobody")),
		and(f.markedAtAll(expr.CmpOpNeq), goTo("nobody")), // a switch has cleared it
	}}
	for i, mark := range chances[1:] {
		again.Rules = append(again.Rules, and(f.marked(mark), f.mark(chances[i])))
	}
	again.Rules = append(again.Rules, goTo("next"))
	return append(r.others(c.Index), first, again,
		chain{Name: "next", Rules: []match{
			and(f.noHopsLeft(), drop()),
			and(following(mapNext), copyTo(c.Index), drop()),
			goTo("nobody"),
		}},
		chain{Name: "nobody", Rules: []match{and(protocol(unix.IPPROTO_TCP), noted(quietly), drop()), accept()}})
}

// chance is the mark of a packet that all members are to have.
func (r roster) chance() byte {
	return chances[min(max(slots.Chances(len(r.members)), 1), len(chances))-1]
}

// others are the chains that send a packet on to a member by its slot. What is not TCP, goes to the owner of its slot, and has just come
// from there stays here also where a switch has taken the mark away.
func (r roster) others(link int) []chain {
	var chains []chain
	f := r.family
	notTCP := and(meta(expr.MetaKeyL4PROTO, register), compare(expr.CmpOpNeq, unix.IPPROTO_TCP))
	for i, m := range r.members {
		to, ok := r.other(uint8(i))
		if !ok {
			continue
		}
		chains = append(chains, chain{Name: chainTo(to), Rules: []match{
			and(f.hopsLeft(), f.mark(r.chance()), immediate(addressRegister, to.AsSlice()), copyTo(link), drop()),
			drop(),
		}})
		if m.known() {
			chains = append(chains, chain{Name: chainToOwner(chainTo(to)), Rules: []match{
				and(notTCP, metaIs(expr.MetaKeyIIFTYPE, nativeShort(unix.ARPHRD_ETHER)...), macSource.is(m.MAC...), accept()),
				goTo(chainTo(to)),
			}})
		}
	}
	return chains
}

// seconds says where to ask about a connection that this node does not know.
func (r roster) seconds() set {
	s := set{Name: mapSeconds, Key: nfttables.TypeMark, Data: nfttables.TypeVerdict, Size: r.size()}
	s.BySlot.Value = slices.Repeat([]uint8{slots.None}, int(r.size()))
	if r.self() == slots.None {
		return s
	}
	// First those that are sent on to, and behind them the same as owners.
	s.BySlot.Values = make([]element, 2*len(r.members))
	for i := range r.members {
		if to, ok := r.other(uint8(i)); ok {
			s.BySlot.Values[i].To, s.BySlot.Values[len(r.members)+i].To = chainTo(to), chainToOwner(chainTo(to))
		}
	}
	self := r.self()
	for slot := range s.BySlot.Value {
		member := r.slots.Onward(slot, self)
		if member == slots.None || int(member) >= len(r.members) || s.BySlot.Values[member].To == "" {
			continue
		}
		s.BySlot.Value[slot] = member
		if member == r.slots.Owner[slot] && r.members[member].known() {
			s.BySlot.Value[slot] += uint8(len(r.members))
		}
	}
	return s
}

// next says who is asked after this node.
func (r roster) next(link int) set {
	s := set{Name: mapNext, Key: nfttables.TypeLink, Data: r.family.address, Size: 1}
	if self := r.self(); r.slots != nil && int(self) < len(r.slots.Next) {
		if to, ok := r.other(r.slots.Next[self]); ok {
			s.Elements = append(s.Elements, element{Key: string(native(uint32(link))), Data: string(to.AsSlice())})
		}
	}
	return s
}

// The chains that send on to a member are named so that nft can read the names again.
func chainTo(a netip.Addr) string { return "to-" + strings.ReplaceAll(a.String(), ":", "-") }

func chainToOwner(to string) string { return to + "-owner" }
