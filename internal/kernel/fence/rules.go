package fence

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// What the table holds, besides the chains of the groups:
//
//	map addresses4, addresses6   address -> jump to the chain of its group
//	map macs                     virtual MAC -> the same
//	set guardN, leaseN           of group N; timed; the link is in them, or it is not
//	set standbyN          of group N, in the same way, while the node does not have the addresses
//	set quietN, deafN, muteN     of group N: what is shut, in the same way (discovery, inward, outward)
//	set spreadN                  of group N: ports that each member serves; timed
//	set orphans                  in the same way; timed, far longer than any guard
//	chain ingress, egress        on the link
//	chain adverts                renews the leases
//	chain ended                  ends them, with this process
const (
	mapAddresses4 = "addresses4"
	mapAddresses6 = "addresses6"
	mapMACs       = "macs"
	chainIngress  = "ingress"
	chainEgress   = "egress"
	chainAdverts  = "adverts"
	setOrphans    = "orphans"
)

// groupMaps are the maps that say which group a frame concerns.
var groupMaps = []string{mapAddresses4, mapAddresses6, mapMACs}

// orphanTime is for how long a connection of an address that is gone may go on retransmitting: about a quarter of an
// hour, with Linux's default of net.ipv4.tcp_retries2.
const orphanTime = 20 * time.Minute

func guardOf(id uint32) string { return fmt.Sprintf("guard%d", id) }
func leaseOf(id uint32) string { return fmt.Sprintf("lease%d", id) }
func chainOf(id uint32) string { return fmt.Sprintf("group%d", id) }

// shutSets are the sets that shut the parts of a group. The rules that ask them are always there: a change of rules makes the kernel wait for
// whoever is passing them, many times as long as a change of a set takes.
func shutSets(id uint32) map[part]string {
	return map[part]string{
		discovery: fmt.Sprintf("quiet%d", id), inward: fmt.Sprintf("deaf%d", id), outward: fmt.Sprintf("mute%d", id),
	}
}

const (
	icmpv6                = 58
	vrrp                  = 112
	neighborSolicitation  = 135
	neighborAdvertisement = 136
)

// families says of which families there are addresses, and whether some have a virtual MAC: the traffic of others is not looked at.
type families struct{ v4, v6, macs bool }

func familiesOf(groups map[uint32]Group) families {
	var f families
	for _, g := range groups {
		f.v4 = f.v4 || slices.ContainsFunc(g.Addresses, netip.Addr.Is4)
		f.v6 = f.v6 || slices.ContainsFunc(g.Addresses, netip.Addr.Is6)
		f.macs = f.macs || len(g.MAC) > 0
	}
	return f
}

// pick keeps the rules of the families that are there.
func (f families) pick(v4, v6 []match) []match {
	var rules []match
	if f.v4 {
		rules = append(rules, v4...)
	}
	if f.v6 {
		rules = append(rules, v6...)
	}
	return rules
}

// ingress picks what may not be heard once the lease is over: a question for an address, and a packet to it. A neighbour solicitation is
// known by the target inside, as it goes to a multicast group. Traffic of others costs one look-up.
func (f families) ingress() []match {
	return f.pick([]match{
		and(etherType(unix.ETH_P_ARP), arpOperation.is(expr.CmpOpEq, 0, 1), arpTarget.load(), judge(mapAddresses4)),
		and(etherType(unix.ETH_P_IP), ip4Dest.load(), judge(mapAddresses4)),
	}, []match{
		and(etherType(unix.ETH_P_IPV6), icmp6(neighborSolicitation), ndTarget.load(), judge(mapAddresses6)),
		and(etherType(unix.ETH_P_IPV6), ip6Dest.load(), judge(mapAddresses6)),
	})
}

// egress picks what may not be said: ARP in an address's name, discovery that names it, and a packet from it; and the advertisements. Of the
// solicitations that name it only a probe counts (RFC 4862 5.4.2), which has no source: one from another address of this node says nothing
// of where the one it names is, and clients on this node ask the holder by it. A virtual MAC says where the address is to every switch, in whatever
// frame: the kernel reports by itself which multicast groups it has left with an address that it removes.
func (f families) egress() []match {
	unspecified := netip.IPv6Unspecified()
	rules := f.pick([]match{
		and(etherType(unix.ETH_P_ARP), arpSender.load(), judge(mapAddresses4)),
		and(etherType(unix.ETH_P_IP), ip4Source.load(), judge(mapAddresses4)),
	}, []match{
		and(etherType(unix.ETH_P_IPV6), icmp6(neighborSolicitation), ip6Source.is(expr.CmpOpEq, unspecified.AsSlice()...), ndTarget.load(), judge(mapAddresses6)),
		and(etherType(unix.ETH_P_IPV6), icmp6(neighborAdvertisement), ndTarget.load(), judge(mapAddresses6)),
		and(etherType(unix.ETH_P_IPV6), ip6Source.load(), judge(mapAddresses6)),
	})
	if f.macs {
		rules = append(rules, and(notL4proto(vrrp), etherSource.load(), judge(mapMACs)))
	}
	return append(rules, and(l4proto(vrrp), jump(chainAdverts)))
}

// verdicts is the chain of a group: what was picked for it is dropped if it is shut, or has no lease. Each rule asks the guard first: without
// it nothing is dropped, whatever else a dead process has left in the table.
//
// One rule outlives the guard, where the kernel can tell which addresses are its own: with IPv6 it goes on sending what a
// connection has to say from an address that it has removed (with IPv4 it does not). Nobody is locked out by that: the
// rule is inert as soon as somebody adds the address again.
func verdicts(id uint32, standby, routes bool) []match {
	shut := shutSets(id)
	var rules []match
	for _, w := range []way{incoming, outgoing} {
		held := w.in(guardOf(id))
		quiet := and(held, w.in(shut[discovery]), drop())
		all := shut[inward]
		if w == outgoing {
			all = shut[outward]
			// Who hears nothing any more answers nobody. What it may still say, lease or not, is that a connection has ended: another node
			// that has the address by now does not have that connection.
			rules = append(rules, and(held, w.in(shut[inward]), tcpReset(), verdict(expr.VerdictAccept, "")))
		}
		rules = append(rules,
			and(etherType(unix.ETH_P_ARP), quiet),
			// A solicitation from the address counts on its way out: it carries our link-layer address, and a neighbour that hears it
			// sends to us.
			and(icmp6(neighborSolicitation), quiet),
			and(icmp6(neighborAdvertisement), quiet),
			and(held, w.in(all), drop()),
			and(held, w.notIn(leaseOf(id)), drop()),
		)
	}
	if standby {
		rules = append(rules, standbyRules(id)...)
	}
	if routes {
		// Discovery comes here by its target: a probe for the address (RFC 4862 5.4.2) has no source.
		rules = append(rules, and(etherType(unix.ETH_P_IPV6), notL4proto(icmpv6), outgoing.in(setOrphans), sourceLocal(expr.CmpOpNeq), drop()))
	}
	return rules
}

// renewal is the rule by which our own advertisement, on its way out, renews the lease of its group; nil if the group has none. An
// advertisement passes those of all groups, so each looks first at what tells most of them apart.
func renewal(g Group) match {
	if g.Advert.zero() {
		return nil
	}
	source, dest, kind := ip4Source, ip4Dest, uint16(unix.ETH_P_IP)
	if g.Advert.Source.Is6() {
		source, dest, kind = ip6Source, ip6Dest, unix.ETH_P_IPV6
	}
	var toItself match
	if g.Advert.Unicast {
		toItself = dest.is(expr.CmpOpEq, g.Advert.Source.AsSlice()...)
	}
	return and(
		advertVRID.is(expr.CmpOpEq, g.Advert.VRID),
		etherType(kind),
		source.is(expr.CmpOpEq, g.Advert.Source.AsSlice()...),
		toItself,
		l4proto(vrrp),
		advertPriority.is(expr.CmpOpNeq, 0),
		outgoing.renew(leaseOf(g.ID), g.Lease),
	)
}

// addressesOf is the name of the map that holds an address.
func addressesOf(a netip.Addr) string {
	if a.Is4() {
		return mapAddresses4
	}
	return mapAddresses6
}
