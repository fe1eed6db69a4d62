package spreadtables

import (
	"slices"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/members/slots"
)

// member is the table of a family behind the link: what a member does with the packets that it gets, and with its own to the address.
// Without an own address of the family it sends on.
func (c Config) member(f family, a Abilities) table {
	r := c.roster(f).among()
	t := table{Family: f.number, Sets: []set{macs(r.members), c.ports(f), r.owners(false)}, Chains: c.receive(r)}
	if !r.own.IsValid() {
		return t
	}
	t.Sets = append(t.Sets, c.addresses(f), r.seconds(), r.next(c.Index))
	if r.self() != slots.None {
		t.Chains = append(t.Chains, c.unknown(r, a)...)
		t.Chains = append(t.Chains, c.translated(r, a))
	}
	t.Chains = append(t.Chains, c.ask(r), r.source(), pokes(f))
	return t
}

func (c Config) addresses(f family) set {
	s := set{Name: setAddresses, Key: f.address}
	for _, a := range f.all(c.Addresses) {
		s.Elements = append(s.Elements, element{Key: string(a.AsSlice())})
	}
	return s
}

// receive does for the receiver what its table at the link leaves: ICMP errors, what was in fragments, what goes to a member whose MAC is not
// known, and all of it where the kernel cannot do it there. A mark says then that a member has sent it on. It comes before connection
// tracking, which has nothing to know of it.
func (c Config) receive(r roster) []chain {
	f, link := r.family, comesIn(expr.CmpOpEq, c.Index)
	hook := chain{
		Name: "receive", Kind: "filter", Hook: unix.NF_INET_PRE_ROUTING, Priority: receivePriority,
		Rules: []match{
			and(link, f.spread(f.packet, setPorts), forUs(), goTo("packets")),
			and(link, f.isError, f.spread(f.inError, setPorts), forUs(), goTo("errors")),
		},
	}
	sendOn := func(name string, w flow, believed match) chain {
		rules := []match{and(fromMember(), accept()), and(believed, accept())}
		if r.size() > 0 {
			rules = append(rules, and(f.slot(w, r.size(), c.Seed), owner(mapOwners), f.hopsLeft(), f.mark(markSpread), copyTo(c.Index), drop()))
		}
		return chain{Name: name, Rules: rules}
	}
	return []chain{sendOn("packets", f.packet, believed(f, r.members)), sendOn("errors", f.inError, f.markedAtAll(expr.CmpOpEq)), hook}
}

// translated gives new connections this node's own address and the target port. On other links, as those of pods, only while this node has
// the address, is to have what routers send it, or never holds it, for they are routed on otherwise. What is new to connection tracking alone, and belongs to a socket on the
// address, stays as it is: it was there before the address was spread.
func (c Config) translated(r roster, a Abilities) chain {
	f := r.family
	hook := chain{Name: "translate", Kind: "nat", Hook: unix.NF_INET_PRE_ROUTING, Priority: translatePriority}
	if a.Sockets {
		hook.Rules = append(hook.Rules, and(f.spread(f.packet, setPorts), protocol(unix.IPPROTO_TCP), begun(), local(), ownSocket(), accept()))
	}
	for _, p := range c.translates() {
		to := and(p.is(), immediate(addressRegister, r.own.AsSlice()), translate(expr.NATTypeDestNAT, f.number, p.Target))
		if c.Ending {
			to = and(begun(), to)
		}
		hook.Rules = append(hook.Rules,
			and(comesIn(expr.CmpOpEq, c.Index), f.spread(f.packet, setPorts), forUs(), to))
		elsewhere := and(comesIn(expr.CmpOpNeq, c.Index), f.spread(f.packet, setPorts))
		switch {
		case !c.Unbound:
			hook.Rules = append(hook.Rules, and(elsewhere, local(), to))
		case r.takes():
			hook.Rules = append(hook.Rules, and(elsewhere, to))
		}
		if c.NeverHolds && !c.Ending && r.takes() {
			hook.Rules = append(hook.Rules, and(elsewhere, p.begins(), to))
		}
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

// begins ends the rule when a packet of TCP begins no connection.
func (p Port) begins() match {
	if p.Protocol != unix.IPPROTO_TCP {
		return nil
	}
	return tcpFlags.has(expr.CmpOpNeq, []byte{syn}, []byte{0})
}

// is ends the rule unless the packet is to the port. Its address and protocol were looked at before.
func (p Port) is() match { return and(protocol(p.Protocol), transport(2, 2).is(big(p.Port)...)) }

// ask is for connections from this node itself to the address, which never come in at the link: they go straight to the member that
// owns their slot.
func (c Config) ask(r roster) chain {
	f := r.family
	hook := chain{Name: "ask", Kind: "nat", Hook: unix.NF_INET_LOCAL_OUT, Priority: translatePriority}
	if c.Ending {
		return hook
	}
	for _, p := range c.Ports {
		asked := and(f.spread(f.packet, setPorts), p.is())
		if r.size() > 0 {
			hook.Rules = append(hook.Rules, and(asked, f.slot(f.packet, r.size(), c.Seed), owner(mapOwners), translate(expr.NATTypeDestNAT, f.number, p.Target)))
		}
		if r.self() != slots.None {
			hook.Rules = append(hook.Rules, and(asked, immediate(addressRegister, r.own.AsSlice()), translate(expr.NATTypeDestNAT, f.number, p.Target)))
		}
	}
	return hook
}

// source is for the same connections: on the holder the kernel gives them the address itself as their source, to which no other member
// could answer.
func (r roster) source() chain {
	f := r.family
	return chain{
		Name: "source", Kind: "nat", Hook: unix.NF_INET_POST_ROUTING, Priority: sourcePriority,
		Rules: []match{and(
			f.wasSpread(),
			f.source.to(register), in(setAddresses),
			immediate(addressRegister, r.own.AsSlice()), translate(expr.NATTypeSourceNAT, f.number, 0),
		)},
	}
}

// wasSpread ends the rule unless the first packet of the connection was to an address and port that are spread.
func (f family) wasSpread() match {
	return and(match{original{f.original, register}}, meta(expr.MetaKeyL4PROTO, register+f.words()),
		match{original{unix.NFT_CT_PROTO_DST, register + f.words() + 1}}, in(setPorts))
}
