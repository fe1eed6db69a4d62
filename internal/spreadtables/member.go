package spreadtables

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/slots"
)

const (
	fin = 0x01
	syn = 0x02
	rst = 0x04
	ack = 0x10
)

var tcpFlags = transport(13, 1)

// member is the table of a family behind the link: what a member does with the packets that it gets, and with its own to the address.
func (c Config) member(f family, a Abilities) table {
	t := table{family: f.number, sets: []set{c.macs(), c.ports(f), c.addresses(f), c.owners(f, false), c.seconds(f)}}
	t.chains = append(t.chains, c.receive(f)...)
	if c.self() != slots.None {
		t.chains = append(t.chains, c.unknown(f)...)
		t.chains = append(t.chains, c.translated(f, a))
	}
	t.chains = append(t.chains, c.ask(f), c.source(f))
	return t
}

// self is this node's index; None: it is no member.
func (c Config) self() uint8 {
	i := slices.IndexFunc(c.Members, func(m MemberAt) bool { return m.Self })
	if i < 0 {
		return slots.None
	}
	return uint8(i)
}

func (c Config) addresses(f family) set {
	s := set{name: setAddresses, key: f.address}
	for _, a := range f.all(c.Addresses) {
		s.elements = append(s.elements, element{key: string(a.AsSlice())})
	}
	return s
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

// knows tells whether frames of a member are known by their source.
func (c Config) knows(member uint8) bool { return len(c.Members[member].MAC) == int(typeEther.length) }

// The chains that send on to a member are named so that nft can read the names again.
func chainTo(a netip.Addr) string { return "to-" + strings.ReplaceAll(a.String(), ":", "-") }

func chainToOwner(to string) string { return to + "-owner" }

// receive does for the receiver what its table at the link leaves: ICMP errors, what was in fragments, what goes to a member whose MAC is not
// known, and all of it where the kernel cannot do it there. A mark says then that a member has sent it on. It comes before connection
// tracking, which has nothing to know of it.
func (c Config) receive(f family) []chain {
	link := comesIn(expr.CmpOpEq, c.Index)
	hook := chain{
		name: "receive", kind: "filter", hook: unix.NF_INET_PRE_ROUTING, priority: receivePriority,
		rules: []match{
			and(link, f.spread(f.packet, setPorts), forUs(), goTo("packets")),
			and(link, f.isError, f.spread(f.inError, setPorts), forUs(), goTo("errors")),
		},
	}
	sendOn := func(name string, w flow) chain {
		rules := []match{and(fromMember(), accept()), and(f.marked(markSpread), accept()), and(f.marked(markLast), accept())}
		if c.slots() > 0 {
			rules = append(rules, and(f.slot(w, c.slots(), c.Seed), owner(mapOwners), f.hopsLeft(), f.mark(markSpread), copyTo(c.Index), drop()))
		}
		return chain{name: name, rules: rules}
	}
	return []chain{sendOn("packets", f.packet), sendOn("errors", f.inError), hook}
}

// unknown gives packets of connections that are not known here a second chance.
//
// What connection tracking calls invalid is out of the window of a connection here, mostly. Sent on, it would be taken for a connection there,
// and be answered by a reset that ends the healthy one; so it ends here. A FIN or RST of a connection that is not known is called
// invalid as well, but nobody takes it for a connection: it goes on, so that a server learns of the end wherever it is.
func (c Config) unknown(f family) []chain {
	link := comesIn(expr.CmpOpEq, c.Index)
	known := and(state(expr.CmpOpNeq, expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED), accept())
	invalid := state(expr.CmpOpNeq, expr.CtStateBitINVALID)
	packets := chain{name: "unknown", rules: []match{
		and(meta(expr.MetaKeyL4PROTO, register), compare(expr.CmpOpNeq, unix.IPPROTO_TCP), accept()),
		and(tcpFlags.has(expr.CmpOpNeq, []byte{syn}, []byte{0}), accept()),
		known,
		and(f.marked(markLast), invalid, drop()),
		and(f.marked(markLast), accept()),
		and(tcpFlags.has(expr.CmpOpEq, []byte{fin | rst}, []byte{0}), invalid, drop()),
	}}
	errors := chain{name: "unknown-errors", rules: []match{known, and(f.marked(markLast), accept())}}
	if c.slots() > 0 {
		packets.rules = append(packets.rules, and(f.slot(f.packet, c.slots(), c.Seed), goOn(mapSeconds)))
		errors.rules = append(errors.rules, and(f.slot(f.inError, c.slots(), c.Seed), goOn(mapSeconds)))
	}
	packets.rules = append(packets.rules, and(invalid, drop()))
	hook := chain{
		name: "member", kind: "filter", hook: unix.NF_INET_PRE_ROUTING, priority: unknownPriority,
		rules: []match{
			and(link, f.spread(f.packet, setPorts), forUs(), goTo(packets.name)),
			and(link, f.isError, f.spread(f.inError, setPorts), forUs(), goTo(errors.name)),
		},
	}
	return append(c.others(f), packets, errors, hook)
}

// others are the chains that send a packet on to a member, for the last time. One that goes to the owner of its slot, and has just come from
// there, stays here also where a switch has taken the mark away.
func (c Config) others(f family) []chain {
	var chains []chain
	for i, m := range c.Members {
		to, ok := c.other(f, uint8(i))
		if !ok {
			continue
		}
		chains = append(chains, chain{name: chainTo(to), rules: []match{
			and(f.hopsLeft(), f.mark(markLast), immediate(addressRegister, to.AsSlice()), copyTo(c.Index), drop()),
			drop(),
		}})
		if c.knows(uint8(i)) {
			back := and(metaIs(expr.MetaKeyIIFTYPE, nativeShort(unix.ARPHRD_ETHER)...), macSource.is(m.MAC...))
			chains = append(chains, chain{name: chainToOwner(chainTo(to)), rules: []match{
				and(back, state(expr.CmpOpNeq, expr.CtStateBitINVALID), drop()),
				and(back, accept()),
				goTo(chainTo(to)),
			}})
		}
	}
	return chains
}

// translated gives new connections this node's own address and the target port. On other links, as those of pods, only while this node has
// the address, for they are routed on otherwise. What is new to connection tracking alone, and belongs to a socket on the address, stays as it is:
// it was there before the address was spread.
func (c Config) translated(f family, a Abilities) chain {
	hook := chain{name: "translate", kind: "nat", hook: unix.NF_INET_PRE_ROUTING, priority: translatePriority}
	self, _ := f.of(c.Self)
	if a.Sockets {
		hook.rules = append(hook.rules, and(f.spread(f.packet, setPorts), protocol(unix.IPPROTO_TCP), begun(), ownSocket(), accept()))
	}
	for _, p := range c.translates() {
		to := and(p.is(), immediate(addressRegister, self.AsSlice()), translate(expr.NATTypeDestNAT, f.number, p.Target))
		if c.Ending {
			to = and(begun(), to)
		}
		hook.rules = append(hook.rules,
			and(comesIn(expr.CmpOpEq, c.Index), f.spread(f.packet, setPorts), forUs(), to),
			and(comesIn(expr.CmpOpNeq, c.Index), f.spread(f.packet, setPorts), local(), to))
	}
	return hook
}

// translates are the ports of which packets that connection tracking does not know are translated. Of one that ends that is none but TCP's, so
// that a client learns of a connection that nobody has.
func (c Config) translates() []Port {
	if !c.Ending {
		return c.Ports
	}
	return slices.DeleteFunc(slices.Clone(c.Ports), func(p Port) bool { return p.Protocol != unix.IPPROTO_TCP })
}

// begun ends the rule when a packet of TCP begins a connection.
func begun() match { return tcpFlags.has(expr.CmpOpEq, []byte{syn}, []byte{0}) }

// is ends the rule unless the packet is to the port. Its address and protocol were looked at before.
func (p Port) is() match { return and(protocol(p.Protocol), transport(2, 2).is(big(p.Port)...)) }

// ask is for connections from this node itself to the address, which never come in at the link: they go straight to the member that
// owns their slot.
func (c Config) ask(f family) chain {
	hook := chain{name: "ask", kind: "nat", hook: unix.NF_INET_LOCAL_OUT, priority: translatePriority}
	if c.Ending {
		return hook
	}
	self, _ := f.of(c.Self)
	for _, p := range c.Ports {
		asked := and(f.spread(f.packet, setPorts), p.is())
		if c.slots() > 0 {
			hook.rules = append(hook.rules, and(asked, f.slot(f.packet, c.slots(), c.Seed), owner(mapOwners), translate(expr.NATTypeDestNAT, f.number, p.Target)))
		}
		if c.self() != slots.None {
			hook.rules = append(hook.rules, and(asked, immediate(addressRegister, self.AsSlice()), translate(expr.NATTypeDestNAT, f.number, p.Target)))
		}
	}
	return hook
}

// source is for the same connections: on the holder the kernel gives them the address itself as their source, to which no other member
// could answer.
func (c Config) source(f family) chain {
	self, _ := f.of(c.Self)
	return chain{
		name: "source", kind: "nat", hook: unix.NF_INET_POST_ROUTING, priority: sourcePriority,
		rules: []match{and(
			f.wasSpread(),
			f.source.to(register), in(setAddresses),
			immediate(addressRegister, self.AsSlice()), translate(expr.NATTypeSourceNAT, f.number, 0),
		)},
	}
}

// wasSpread ends the rule unless the first packet of the connection was to an address and port that are spread.
func (f family) wasSpread() match {
	return and(match{original{f.original, register}}, meta(expr.MetaKeyL4PROTO, register+f.words()),
		match{original{unix.NFT_CT_PROTO_DST, register + f.words() + 1}}, in(setPorts))
}
