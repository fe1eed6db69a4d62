package spreadtables

import (
	"net/netip"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/members/slots"
)

// The sets and maps. Those of the netdev table, which both families share, have 4 or 6 behind their names.
//
//	set ports       address . protocol . port that is spread; timed: without it no rule does anything
//	set members     MACs of the other members
//	map owners      slot -> address of its owner; without those of this node
//	map seconds     slot -> chain of the member that may know a connection which this node does not
//	map next        link -> address of the member that is asked after this one, of any slot
//	set addresses   those that are spread
const (
	setPorts     = "ports"
	setMembers   = "members"
	setAddresses = "addresses"
	mapOwners    = "owners"
	mapSeconds   = "seconds"
	mapNext      = "next"
)

// Priorities. At the link the fence comes first, at -500. Behind it what was in fragments is put together at -400, connections are known from
// -200 on, and kube-proxy translates at -100.
const (
	ingressPriority   = -450
	receivePriority   = -310
	unknownPriority   = -150
	translatePriority = -110
	sourcePriority    = 90
)

// render makes the tables of a configuration: that of the receiver where the kernel can do it, and one of each family for members. With
// Masquerade there are the latter alone.
func (c Config) render(a Abilities) []table {
	var families []family
	for _, f := range []family{ipv4(), ipv6()} {
		_, own := f.of(c.Self)
		if len(f.all(c.Addresses)) > 0 && (own || !c.Masquerade) {
			families = append(families, f)
		}
	}
	if len(families) == 0 || len(c.Self) == 0 {
		return nil
	}
	var tables []table
	if c.Masquerade {
		for _, f := range families {
			tables = append(tables, c.masquerade(f))
		}
		return tables
	}
	if a.Ingress {
		tables = append(tables, c.receiver(families))
	}
	for _, f := range families {
		tables = append(tables, c.member(f, a))
	}
	return tables
}

// receiver is the table at the link. What it sends on has been seen by nothing else of this node but XDP, tc and the fence.
//
// It leaves alone: frames for other hosts, which a link in promiscuous mode gets, too, and for everybody; fragments, of which only the first
// has ports; what comes from a member, which has decided where it belongs; what goes to a member whose MAC is not known, as that could send it
// back; what has no hop left; and ICMP errors, which are rare. What of these belongs to another member goes on behind the link. Frames of a VLAN
// pass here, too, on their way to a link of their own: what comes in there is not spread.
func (c Config) receiver(families []family) table {
	t := table{Family: unix.NFPROTO_NETDEV, Sets: []set{macs(c.Members)}}
	ingress := chain{
		Name: "ingress", Kind: "filter", Hook: unix.NF_NETDEV_INGRESS, Device: c.Link, Priority: ingressPriority,
	}
	for _, f := range families {
		r := c.roster(f).among()
		packets, ports, owners := "packets"+f.suffix, c.ports(f), r.owners(true)
		ports.Name, owners.Name = ports.Name+f.suffix, owners.Name+f.suffix
		t.Sets = append(t.Sets, ports, owners)
		ingress.Rules = append(ingress.Rules, and(forUs(), f.is(), f.spread(f.packet, ports.Name), goTo(packets)))
		t.Chains = append(t.Chains, chain{Name: packets, Rules: c.sendOn(r, owners.Name)})
	}
	t.Chains = append(t.Chains, ingress)
	return t
}

func (c Config) sendOn(r roster, owners string) []match {
	f := r.family
	rules := []match{
		and(f.ofVLAN(), accept()),
		and(f.is(), f.fragment, accept()),
		and(fromMember(), accept()),
		and(f.is(), believed(f, r.members), accept()),
	}
	if r.size() > 0 {
		rules = append(rules, and(f.is(), f.slot(f.packet, r.size(), c.Seed), owner(owners), f.hopsLeft(), forwardTo(f.number, c.Index)))
	}
	return rules
}

// believed ends the rule unless a mark says that a member has sent the packet on. Anybody can set one, so it counts only where it is needed: for
// a second chance, whose sender may have another MAC than it says, as behind a bond that sends by all of its ports. What begins a connection has
// no second chance, and UDP has none: there the MAC tells, if all are known.
func believed(f family, members []MemberAt) match {
	marked := f.markedAtAll(expr.CmpOpEq)
	for _, m := range members {
		if !m.Self && !m.known() {
			return marked
		}
	}
	return and(marked, protocol(unix.IPPROTO_TCP), tcpFlags.has(expr.CmpOpEq, []byte{syn}, []byte{0}))
}

// ports is what is spread.
func (c Config) ports(f family) set {
	s := set{Name: setPorts, Key: f.key, Timed: true}
	for _, a := range f.all(c.Addresses) {
		for _, p := range c.Ports {
			key := append(a.AsSlice(), p.Protocol, 0, 0, 0)
			s.Elements = append(s.Elements, element{Key: string(append(append(key, big(p.Port)...), 0, 0))})
		}
	}
	return s
}

// macs are those of the other members.
func macs(members []MemberAt) set {
	s := set{Name: setMembers, Key: nfttables.TypeEther}
	seen := map[string]bool{}
	for _, m := range members {
		if mac := string(m.MAC); !m.Self && m.known() && !seen[mac] {
			seen[mac] = true
			s.Elements = append(s.Elements, element{Key: mac})
		}
	}
	return s
}

// owners are the other members that own slots. Where frames go on as they are, only those whose frames are known when they come back.
func (r roster) owners(knownMAC bool) set {
	s := set{Name: mapOwners, Key: nfttables.TypeMark, Data: r.family.address, Size: r.size()}
	s.BySlot = r.byOwner(func(member uint8) (netip.Addr, bool) {
		to, ok := r.other(member)
		return to, ok && (!knownMAC || r.members[member].known())
	})
	return s
}

// byOwner has the address of its owner for each slot, of the owners that have one.
func (r roster) byOwner(at func(member uint8) (netip.Addr, bool)) bySlot {
	out := bySlot{Value: make([]uint8, r.size()), Values: make([]element, len(r.members))}
	for i := range r.members {
		if to, ok := at(uint8(i)); ok {
			out.Values[i].Data = string(to.AsSlice())
		}
	}
	for slot := range out.Value {
		owner := r.slots.Owner[slot]
		if int(owner) >= len(out.Values) || out.Values[owner].Data == "" {
			owner = slots.None
		}
		out.Value[slot] = owner
	}
	return out
}
