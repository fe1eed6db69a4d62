package convert

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// candidacy is how one instance takes part in its election.
type candidacy struct {
	*converter
	i *keepalived.Instance
}

// election says what would change who holds the addresses of an instance.
func (c candidacy) election() {
	switch {
	case c.i.Priority == 255 && !c.i.Has("priority"):
		c.say(keepalived.Warning, codeChanged, c.i.Where("state"), "state MASTER without priority is priority 255, which no check lowers: the node becomes the owner", "write a priority below 255 if that is not meant")
	case c.i.StartAsMaster && c.i.Has("state"):
		c.say(keepalived.Note, keepalived.CodeIgnored, c.i.Where("state"), "state MASTER: the priority alone decides, in keepalived too", "")
	}
	if c.i.AdvertInterval > longest {
		c.refuse(c.i.Where("advert_int"), fmt.Sprintf("advert_int %v: the longest interval of keepvip is %v", c.i.AdvertInterval, longest), "take a shorter one on all nodes")
	}
	if d := c.cfg.Global.StartupDelay; d > 1000*time.Second {
		c.changed(c.cfg.Global.Where("vrrp_startup_delay"), "the longest startupDelay of keepvip is 1000 s", "")
	}
	if c.i.Auth.Type == keepalived.AuthAH {
		c.refuse(c.i.Where("auth_type"), "auth_type AH: keepvip has no IPsec header, so nodes with it do not hear keepvip, and both hold the address", "take auth_type PASS on all nodes, or a key of keepvip's (docs/authentication.md)")
	}
	if c.i.DontTrack {
		c.refuse(c.i.Where("dont_track_primary"), "dont_track_primary: keepvip gives the addresses up while the interface is down, and keepalived would keep them", "remove it if the nodes are joined by a switch; two nodes with a cable between them keep keepalived")
	}
	c.oldChecksum()
	if c.i.Multicast() {
		c.multicast()
	} else {
		c.unicast()
	}
	if c.i.Strict {
		c.say(keepalived.Warning, keepalived.CodeIgnored, c.where("strict_mode", "vrrp_strict"), "strict mode: keepvip has none; what keepalived makes of the other keywords because of it is carried over", "")
	}
	if !c.i.Accept {
		c.changed(c.where("no_accept", "vrrp_strict"), c.i.Name+": keepalived drops packets to the addresses (no_accept, or strict mode), and keepvip's addresses take them", "close the ports in the host's firewall if they must stay closed")
	}
}

// checksum writes the form of checksum that v3_checksum_as_v2 of keepalived 2.2.8 and later asks for.
func (c candidacy) checksum() {
	if at, ok := c.newer("v3_checksum_as_v2"); ok && c.i.Version == 3 && !c.i.IPv6 {
		c.out.set("vips[].vrrp.checksum", "message-only", placed(at))
	}
}

// newer is the line of a keyword that later versions have in global_defs and in an instance. The instance's counts, unless it says no.
func (c candidacy) newer(word string) (at syntax.Origin, ok bool) {
	for _, block := range c.roots {
		own := block.Words[0] == "vrrp_instance" && block.At == c.i.At
		if !own && block.Words[0] != "global_defs" {
			continue
		}
		for _, n := range block.Children {
			if n.Words[0] != word {
				continue
			}
			at, ok = n.At, len(n.Words) < 2 || !slices.Contains([]string{"false", "off", "no"}, n.Words[1])
			if own {
				return at, ok
			}
		}
	}
	return at, ok
}

// bootDelay is vrrp_delay_after_boot of keepalived 2.4, in seconds, and its line.
func (c *converter) bootDelay() (time.Duration, syntax.Origin) {
	const most = 1000
	for _, block := range c.roots {
		for _, n := range block.Children {
			if block.Words[0] != "global_defs" || n.Words[0] != "vrrp_delay_after_boot" {
				continue
			}
			v, err := strconv.ParseFloat(slices.Concat(n.Words[1:], []string{""})[0], 64)
			if err != nil || !(v >= 0 && v <= most) { // NaN is neither
				c.refuse(n.At, fmt.Sprintf("vrrp_delay_after_boot: keepvip takes 0 to %d seconds", most), "correct it")
				return 0, n.At
			}
			return time.Duration(v * float64(time.Second)).Round(time.Millisecond), n.At
		}
	}
	return 0, syntax.Origin{}
}

// oldChecksum is about unicast with keepalived before 1.3.6.
func (c candidacy) oldChecksum() {
	if c.i.Has("old_unicast_checksum") && c.i.Version == 3 && !c.i.IPv6 {
		c.refuse(c.i.Where("old_unicast_checksum"), "old_unicast_checksum: keepvip does not make the checksum of keepalived before 1.3.6, whose nodes would hold the address beside it", "update keepalived on all nodes first")
	}
}

func (c candidacy) multicast() {
	if c.i.FaultNoPeer {
		c.refuse(c.i.Where("unicast_fault_no_peer"), "unicast_fault_no_peer without peers: this instance never holds the addresses, and keepvip would", "add unicast_peer with the other nodes")
	}
	if c.i.Source.IsValid() && !spokenFrom(c.i) {
		c.changed(sourceAt(c.i), fmt.Sprintf("the source %s: keepvip's multicast comes from the link-local address, as RFC 9568 has it; of equal priorities the higher address wins", c.i.Source),
			"make the priorities differ if this is another address")
	}
}

// multicastGroup is the group, where it is not the usual one, and the line that says so.
func (c candidacy) multicastGroup() (netip.Addr, source) {
	usual, global := netip.AddrFrom4([4]byte{224, 0, 0, 18}), "vrrp_mcast_group4"
	if c.i.IPv6 {
		usual, global = netip.MustParseAddr("ff02::12"), "vrrp_mcast_group6"
	}
	if !c.i.Multicast() || c.i.Group == usual {
		return netip.Addr{}, nowhere
	}
	return c.i.Group, c.of("mcast_dst_ip", global)
}

// spokenFrom says whether keepvip can advertise from the source that is asked for.
func spokenFrom(i *keepalived.Instance) bool { return i.Source.Is4() || i.Source.IsLinkLocalUnicast() }

// sourceAt is the line that says where advertisements come from.
func sourceAt(i *keepalived.Instance) syntax.Origin {
	if i.Has("mcast_src_ip") {
		return i.Where("mcast_src_ip")
	}
	return i.Where("unicast_src_ip")
}

// unicast says what keepvip hears of its peers.
func (c candidacy) unicast() {
	if least, at := c.leastTTL(); least < mostTTL {
		ttl := fmt.Sprint(c.i.UnicastTTL)
		if !c.i.Has("unicast_ttl") && c.i.IPv6 {
			ttl = "64, which is keepalived's default by IPv6"
		}
		c.changed(at, fmt.Sprintf("hop limit %s: keepvip takes advertisements from %d on, as keepalived does, and so from hosts beyond the link that take a peer's address", ttl, least),
			"on one link write unicast_ttl 255 on all nodes, and remove minTTL; else use a key (docs/authentication.md)")
	}
	global := func(p keepalived.Peer) bool { return p.Address.Is6() && !p.Address.IsLinkLocalUnicast() }
	if !c.i.Source.IsValid() && slices.ContainsFunc(c.i.Unicast, global) {
		c.refuse(c.i.Where("unicast_peer"), "unicast by IPv6 without unicast_src_ip: keepalived advertises from its link-local address, which is not among the peers of keepvip, so both would hold the address",
			"write unicast_src_ip on all nodes, and reload keepalived; then convert")
	}
	if !c.i.CheckSource {
		c.say(keepalived.Note, codeChanged, c.i.Where("unicast_peer"), "keepvip hears only its peers: the list has to name all other nodes", "")
	}
	for _, word := range []string{"mcast_dst_ip", "unicast_fault_no_peer"} {
		if c.i.Has(word) {
			c.note(c.i.Where(word), word+": with peers it means nothing, in keepalived too")
		}
	}
	for _, p := range c.i.Unicast {
		if p.MaxTTL < mostTTL {
			c.say(keepalived.Note, keepalived.CodeIgnored, p.At, "max_ttl: keepvip takes every hop limit from minTTL on", "")
		}
	}
}

// mostTTL is what no router has forwarded.
const mostTTL = 255

// leastTTL is the least hop limit of the peers, and the line that says so: keepalived takes any, where it is not told a least one.
func (c candidacy) leastTTL() (int, syntax.Origin) {
	least := mostTTL
	for _, p := range c.i.Unicast {
		least = min(least, p.MinTTL)
	}
	if least > 0 {
		return least, c.i.Where("unicast_peer")
	}
	if c.i.UnicastTTL != mostTTL || c.i.IPv6 && !c.i.Has("unicast_ttl") {
		return 1, c.where("unicast_ttl", "")
	}
	return mostTTL, c.i.Where("unicast_peer")
}
