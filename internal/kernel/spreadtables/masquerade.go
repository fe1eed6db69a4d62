package spreadtables

import (
	"net/netip"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/members/slots"
)

// With Masquerade there is no receiver at the link and no second chance: whoever has the address translates new connections to the member
// that owns their slot, and the client's address into its own, so that the answers come back to it. Connection tracking does the rest.
//
//	set ports    as with the others; timed
//	map owners   slot -> address of its owner, this node's own included
//	map targets  address of a member . protocol . port -> the port that the service listens on there
//	map sources  address of another member -> this node's own toward it
//
// The rules are the same on each node, and do something where the address is.
const (
	mapTargets = "targets"
	mapSources = "sources"
)

// untrackedPriority is before connection tracking.
const untrackedPriority = -300

// masquerade is the table of a family.
func (c Config) masquerade(f family) table {
	r := c.roster(f)
	return table{
		Family: f.number, Sets: []set{c.ports(f), c.addresses(f), r.takers(), r.targets(c.Ports), r.sources()},
		Chains: []chain{
			c.choose(r),
			{
				Name: "translate", Kind: "nat", Hook: unix.NF_INET_PRE_ROUTING, Priority: translatePriority,
				Rules: []match{and(f.spread(f.packet, setPorts), local(), goTo("choose"))},
			},
			{
				Name: "ask", Kind: "nat", Hook: unix.NF_INET_LOCAL_OUT, Priority: translatePriority,
				Rules: []match{and(f.spread(f.packet, setPorts), local(), goTo("choose"))},
			},
			r.disguise(),
			pokes(f),
		},
	}
}

// pokes has connection tracking look away from what Poke sends.
func pokes(f family) chain {
	return chain{
		Name: "pokes", Kind: "filter", Hook: unix.NF_INET_LOCAL_OUT, Priority: untrackedPriority,
		Rules: []match{and(f.marked(markLast), f.source.to(register), in(setAddresses), run(&expr.Notrack{}))},
	}
}

// taker is where a member gets its connections: at its address, from an address of this node; from is the zero Addr for this node itself.
func (r roster) taker(member uint8) (to, from netip.Addr, ok bool) {
	if int(member) >= len(r.members) {
		return to, from, false
	}
	m := r.members[member]
	if m.Self {
		return r.own, from, r.own.IsValid()
	}
	to, ok = r.family.of(m.Addresses)
	from, reached := r.family.of(m.Sources)
	return to, from, ok && reached
}

func (r roster) takers() set {
	s := set{Name: mapOwners, Key: nfttables.TypeMark, Data: r.family.address, Size: r.size()}
	s.BySlot = r.byOwner(func(member uint8) (netip.Addr, bool) {
		to, _, ok := r.taker(member)
		return to, ok
	})
	return s
}

func (r roster) targets(ports []Port) set {
	s := set{Name: mapTargets, Key: r.family.key, Data: nfttables.TypePort}
	for i, m := range r.members {
		to, _, ok := r.taker(uint8(i))
		for _, p := range ports {
			if !ok {
				break
			}
			target := p.Target
			if m.Target != 0 {
				target = m.Target
			}
			s.Elements = append(s.Elements, element{Key: p.key(to), Data: string(big(target))})
		}
	}
	return s
}

// key is an address with protocol and port, as in sets.
func (p Port) key(a netip.Addr) string {
	return string(append(append(append(a.AsSlice(), p.Protocol, 0, 0, 0), big(p.Port)...), 0, 0))
}

func (r roster) sources() set {
	s := set{Name: mapSources, Key: r.family.address, Data: r.family.address}
	for i := range r.members {
		if to, from, ok := r.taker(uint8(i)); ok && from.IsValid() {
			s.Elements = append(s.Elements, element{Key: string(to.AsSlice()), Data: string(from.AsSlice())})
		}
	}
	return s
}

// choose translates a connection that begins. What of TCP begins none belongs to none that is known: it is left to this host, which answers by a
// reset, or has a socket for it from a time when nothing was spread. A slot without an owner is this node's, if it is a member.
func (c Config) choose(r roster) chain {
	if c.Ending {
		return chain{Name: "choose"}
	}
	f := r.family
	out := chain{Name: "choose", Rules: []match{
		and(protocol(unix.IPPROTO_TCP), tcpFlags.has(expr.CmpOpNeq, []byte{fin | syn | rst | ack}, []byte{syn}), accept()),
	}}
	if r.size() > 0 {
		address, service := uint32(addressRegister), addressRegister+f.words()
		out.Rules = append(out.Rules, and(
			f.slot(f.packet, r.size(), c.Seed), owner(mapOwners),
			meta(expr.MetaKeyL4PROTO, service), f.packet.port.to(service+1),
			run(&expr.Lookup{SourceRegister: address, DestRegister: register, IsDestRegSet: true, SetName: mapTargets}),
			run(&expr.NAT{Type: expr.NATTypeDestNAT, Family: uint32(f.number), RegAddrMin: address, RegProtoMin: register, Specified: true}),
		))
	}
	if r.own.IsValid() && r.self() != slots.None {
		for _, p := range c.Ports {
			out.Rules = append(out.Rules, and(p.is(), immediate(addressRegister, r.own.AsSlice()), translate(expr.NATTypeDestNAT, f.number, p.Target)))
		}
	}
	return out
}

// disguise gives connections to other members this node's address as their source, and those that this node itself makes to the address, too.
func (r roster) disguise() chain {
	f, out := r.family, r.source()
	out.Rules = append([]match{and(
		f.wasSpread(), f.dest.to(register),
		run(&expr.Lookup{SourceRegister: register, DestRegister: addressRegister, IsDestRegSet: true, SetName: mapSources}),
		translate(expr.NATTypeSourceNAT, f.number, 0),
	)}, out.Rules...)
	return out
}
