package link

import (
	"net/netip"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Names of what the table holds. The sets and maps:
//
//	addresses4, addresses6    address -> group, without time
//	guard                     groups whose fence stands; timed
//	lease                     groups that may answer; timed, renewed by the advertisement that leaves
//	silent, closedin, closedout  groups whose Part was shut; timed
const (
	setAddresses4 = "addresses4"
	setAddresses6 = "addresses6"
	setGuard      = "guard"
	setLease      = "lease"
	setSilent     = "silent"
	setClosedIn   = "closedin"
	setClosedOut  = "closedout"

	chainIngress = "ingress"
	chainEgress  = "egress"
	chainAdverts = "adverts"
)

// chain is a list of rules; each rule is one match with a verdict at its end.
type chain struct {
	name  string
	rules []match
}

const (
	icmpv6                = 58
	vrrp                  = 112
	neighborSolicitation  = 135
	neighborAdvertisement = 136
)

// class is one kind of packet that carries an address of ours, and the way in which such packets are shut.
type class struct {
	name      string // of the chain that decides
	address   field
	addresses string
	shut      string
}

var (
	inARP     = class{"held_in_arp", arpTarget, setAddresses4, setSilent}
	inIP4     = class{"held_in_ip4", ip4Dest, setAddresses4, setClosedIn}
	inNS      = class{"held_in_ns", ndTarget, setAddresses6, setSilent}
	inIP6     = class{"held_in_ip6", ip6Dest, setAddresses6, setClosedIn}
	outARP    = class{"held_out_arp", arpSender, setAddresses4, setSilent}
	outIP4    = class{"held_out_ip4", ip4Source, setAddresses4, setClosedOut}
	outND     = class{"held_out_nd", ndTarget, setAddresses6, setSilent}
	outNDFrom = class{"held_out_nd_from", ip6Source, setAddresses6, setSilent}
	outIP6    = class{"held_out_ip6", ip6Source, setAddresses6, setClosedOut}
)

// held ends the rule unless the packet is of the class and the fence of its group stands. The guard is asked first and always: without it
// nothing is dropped, whatever else a dead process has left in the table.
func (c class) held() match { return and(c.address.load(), groupOf(c.addresses), in(setGuard)) }

// enter is the only rule that traffic of others meets, and costs it one look-up.
func (c class) enter() match { return and(c.held(), jump(c.name)) }

// decide drops what is shut, and what has no lease.
func (c class) decide() chain {
	group := and(c.address.load(), groupOf(c.addresses))
	return chain{c.name, []match{
		and(group, in(c.shut), drop()),
		and(group, notIn(setLease), drop()),
	}}
}

// ingress is what may not be heard once the tenure is over: a question for the address, and a packet to it. A neighbour solicitation is known
// by the target inside, as it goes to a multicast group.
func ingress() []chain {
	return []chain{
		inARP.decide(), inIP4.decide(), inNS.decide(), inIP6.decide(),
		{"in_arp", []match{and(arpOperation.is(expr.CmpOpEq, 0, 1), inARP.enter())}},
		{"in_ip4", []match{inIP4.enter()}},
		{"in_ip6", []match{and(icmp6(neighborSolicitation), inNS.enter()), inIP6.enter()}},
		{chainIngress, byType("in_arp", "in_ip4", "in_ip6")},
	}
}

// egress is what may not be said: ARP in the address's name, discovery that names it, and a packet from it. A solicitation from the address
// counts as discovery as well: it carries our link-layer address, and a neighbour that hears it sends to us.
func egress() []chain {
	return []chain{
		outARP.decide(), outIP4.decide(), outND.decide(), outNDFrom.decide(), outIP6.decide(),
		{"out_arp", []match{outARP.enter()}},
		{"out_ip4", []match{outIP4.enter()}},
		{"out_ip6", []match{
			and(icmp6(neighborSolicitation), outND.enter()),
			and(icmp6(neighborSolicitation), outNDFrom.enter()),
			and(icmp6(neighborAdvertisement), outND.enter()),
			outIP6.enter(),
		}},
		{chainAdverts, nil},
		{chainEgress, append(byType("out_arp", "out_ip4", "out_ip6"), and(l4proto(vrrp), jump(chainAdverts)))},
	}
}

func icmp6(kind byte) match { return and(l4proto(icmpv6), icmp6Type.is(expr.CmpOpEq, kind)) }

func byType(arp, ip4, ip6 string) []match {
	return []match{
		and(etherType(unix.ETH_P_ARP), jump(arp)),
		and(etherType(unix.ETH_P_IP), jump(ip4)),
		and(etherType(unix.ETH_P_IPV6), jump(ip6)),
	}
}

// renewal is the rule by which our own advertisement, on its way out, renews the lease of its group; nil if the group has none.
func renewal(g Group) match {
	if g.Advert.zero() {
		return nil
	}
	source, etherTypeOf := ip4Source, uint16(unix.ETH_P_IP)
	if g.Advert.Source.Is6() {
		source, etherTypeOf = ip6Source, unix.ETH_P_IPV6
	}
	return and(
		etherType(etherTypeOf),
		source.is(expr.CmpOpEq, g.Advert.Source.AsSlice()...),
		l4proto(vrrp),
		advertVRID.is(expr.CmpOpEq, g.Advert.VRID),
		advertPriority.is(expr.CmpOpNeq, 0),
		renew(setLease, g.ID, g.Lease),
	)
}

// addressesOf is the name of the map that holds an address.
func addressesOf(a netip.Addr) string {
	if a.Is4() {
		return setAddresses4
	}
	return setAddresses6
}
