package lint

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// ownerByState: state MASTER without a priority is priority 255.
func ownerByState(c *keepalived.Config, say say) {
	for _, i := range c.Instances {
		if i.StartAsMaster && i.Has("state") && !i.Has("priority") {
			say(keepalived.Warning, "master-without-priority", i.Where("state"),
				fmt.Sprintf("%s has state MASTER and no priority, so it has priority 255: no check takes the address away from it", i.Name),
				"write a priority, such as 101, or state BACKUP on all nodes")
		}
	}
}

// nopreemptWeights: with nopreempt a lower priority moves nothing.
func nopreemptWeights(c *keepalived.Config, say say) {
	for _, i := range c.Instances {
		if i.Preempt {
			continue
		}
		for _, t := range slices.Concat(i.Track.Interfaces, i.Track.Scripts, i.Track.Files, i.Track.Processes) {
			if t.Weight.Value != 0 {
				say(keepalived.Warning, "nopreempt-weights", t.At,
					fmt.Sprintf("%s has nopreempt, so the weight %d of %s never moves the address: only FAULT, a stop or silence does", i.Name, t.Weight.Value, t.Name),
					"give the check weight 0 to move the address when it fails, or remove nopreempt")
			}
		}
	}
}

// strictMode breaks more than it orders.
func strictMode(c *keepalived.Config, say say) {
	for _, i := range c.Instances {
		if !i.Strict {
			continue
		}
		at := i.Where("strict_mode")
		if !i.Has("strict_mode") {
			at = c.Global.Where("vrrp_strict")
		}
		if !i.Multicast() {
			say(keepalived.Warning, "strict-unicast", i.Where("unicast_peer"), i.Name+" has unicast peers in strict mode, which has no unicast", "remove strict_mode and vrrp_strict")
		}
		if !i.Accept {
			say(keepalived.Warning, "strict-no-accept", at,
				fmt.Sprintf("strict mode: a firewall drops all packets to the addresses of %s, so no service answers there", i.Name),
				"remove strict_mode and vrrp_strict, or add accept (VRRP version 3)")
		}
	}
}

// sameVRID finds instances that take each other's advertisements for their own.
func sameVRID(c *keepalived.Config, say say) {
	type router struct {
		device string
		id     int
		six    bool
	}
	seen := map[router][]*keepalived.Instance{}
	for _, i := range c.Instances {
		key := router{i.Interface, i.VRID, i.IPv6}
		at := slices.IndexFunc(seen[key], func(o *keepalived.Instance) bool { return sameDestination(i, o) })
		if at >= 0 && i.VRID != 0 {
			o := seen[key][at]
			say(keepalived.Fault, "vrid-twice", i.Where("virtual_router_id"),
				fmt.Sprintf("%s has the virtual_router_id %d of %s (%v) on %s: keepalived does not start", i.Name, i.VRID, o.Name, o.Where("virtual_router_id"), i.Interface),
				"give each a number of its own, the same on all nodes")
			continue
		}
		seen[key] = append(seen[key], i)
	}
}

// exampleVRID is the number in keepalived's samples and in most guides, so that strangers on one link have it in common.
const exampleVRID = 51

// exampleNumber: two pairs on a link with the same number take each other's advertisements for their own.
func exampleNumber(c *keepalived.Config, say say) {
	at := slices.IndexFunc(c.Instances, func(i *keepalived.Instance) bool { return i.VRID == exampleVRID && i.Multicast() })
	if at >= 0 {
		i := c.Instances[at]
		say(keepalived.Note, "vrid-example", i.Where("virtual_router_id"),
			fmt.Sprintf("%d is the virtual_router_id of most examples: others on this link who copied one have it, too, and disturb %s", exampleVRID, i.Name),
			"choose another number, the same on all nodes")
	}
}

func sameDestination(a, b *keepalived.Instance) bool {
	if a.Multicast() != b.Multicast() {
		return false
	}
	if a.Multicast() {
		return a.Group == b.Group
	}
	return slices.ContainsFunc(a.Unicast, func(p keepalived.Peer) bool {
		return slices.ContainsFunc(b.Unicast, func(q keepalived.Peer) bool { return p.Address == q.Address })
	})
}

// sameAddress finds an address that two instances move.
func sameAddress(c *keepalived.Config, say say) {
	type place struct {
		address netip.Addr
		device  string
	}
	type holder struct {
		name string
		at   syntax.Origin
	}
	seen := map[place]holder{}
	for _, i := range c.Instances {
		for _, a := range slices.Concat(i.Addresses, i.Excluded) {
			p := place{a.Prefix.Addr(), a.Interface}
			if o, ok := seen[p]; ok {
				say(keepalived.Warning, "address-twice", a.At, fmt.Sprintf("%s is in %s already (%v): each removes it from under the other", p.address, o.name, o.at), "write it once")
				continue
			}
			seen[p] = holder{i.Name, a.At}
		}
	}
}

// unicastIPv6: keepalived sends unicast over IPv6 with the host's default hop limit.
func unicastIPv6(c *keepalived.Config, say say) {
	for _, i := range c.Instances {
		if i.IPv6 && !i.Multicast() && (!i.Has("unicast_ttl") || i.UnicastTTL != 255) {
			say(keepalived.Warning, "unicast-ttl", i.Where("unicast_peer"),
				fmt.Sprintf("%s does not send to its IPv6 peers with hop limit 255, so they cannot tell its advertisements from those that a router passed on", i.Name),
				"add unicast_ttl 255, on all nodes")
		}
	}
}

// unicastAnyone: without check_unicast_src a host that is no peer takes part. It is so in nearly every file with peers: one line is enough.
func unicastAnyone(c *keepalived.Config, say say) {
	once(c, func(i *keepalived.Instance) bool { return !i.Multicast() && !i.CheckSource }, func(i *keepalived.Instance, others string) {
		say(keepalived.Note, "unicast-anyone", i.Where("unicast_peer"), i.Name+others+": advertisements from hosts that are not in unicast_peer are believed", "add check_unicast_src")
	})
}

// once says something of the first instance of which it is true, and how many others there are.
func once(c *keepalived.Config, is func(*keepalived.Instance) bool, say func(first *keepalived.Instance, others string)) {
	var all []*keepalived.Instance
	for _, i := range c.Instances {
		if is(i) {
			all = append(all, i)
		}
	}
	switch len(all) {
	case 0:
	case 1:
		say(all[0], "")
	default:
		say(all[0], fmt.Sprintf(" and %d more", len(all)-1))
	}
}

// ownPeer: a node that is in its own list of peers.
func ownPeer(c *keepalived.Config, say say) {
	for _, i := range c.Instances {
		for _, p := range i.Unicast {
			if p.Address == i.Source {
				say(keepalived.Warning, "own-peer", p.At, fmt.Sprintf("%s is the source of %s itself, and no peer", p.Address, i.Name), "list the other nodes only")
			}
		}
	}
}

// firstIPv6: the first IPv6 address has to be link-local, as RFC 9568 (5.2.9) says.
func firstIPv6(c *keepalived.Config, say say) {
	for _, i := range c.Instances {
		if i.IPv6 && !i.Strict && len(i.Addresses) > 0 && !i.Addresses[0].Prefix.Addr().IsLinkLocalUnicast() {
			say(keepalived.Warning, "ipv6-link-local", i.Addresses[0].At, fmt.Sprintf("the first address of %s is not link-local, as VRRP for IPv6 wants it", i.Name),
				"put an address of fe80::/10 first, the same on all nodes, where routers of other makes take part")
		}
	}
}

// password: auth_pass keeps nobody out.
func password(c *keepalived.Config, say say) {
	once(c, func(i *keepalived.Instance) bool { return i.Auth.Type == keepalived.AuthPass }, func(i *keepalived.Instance, _ string) {
		say(keepalived.Note, "password-in-clear", i.Where("auth_pass"), "auth_pass is in each advertisement for all to read: it tells groups apart, and keeps nobody out", "")
	})
}
