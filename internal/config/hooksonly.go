package config

import "net/netip"

func hooksOnlyOptions() []Option {
	return []Option{
		option("vips[].hooksOnly", "hooks-only", "false", recreate, one(boolean(), func(t target) *bool { return &t.vip.HooksOnly }),
			"Elect, and tell hooks and the notify FIFO; bind, announce and fence nothing: for an address that a hook moves, such as a cloud's. "+
				"With vrrp the entry may have no addresses at all: then vrrp.id and interface are needed, and advertisements name none, as keepalived's do"),
	}
}

// First is the address that stands for the entry among members, and that chooses the interface. For an entry without an address it is the
// VRID as one that no host has: 0.0.0.N (RFC 1122, section 3.2.1.3), or ::N where the peers or the source are of IPv6.
func (v VIP) First() netip.Addr {
	if len(v.Addresses) > 0 {
		return v.Addresses[0].Addr()
	}
	if v.VRRP.Source.Is6() || len(v.VRRP.Peers) > 0 && v.VRRP.Peers[0].Is6() {
		return netip.AddrFrom16([16]byte{15: v.VRRP.ID})
	}
	return netip.AddrFrom4([4]byte{3: v.VRRP.ID})
}

// hooksOnly refuses what needs a bound address beside it, and an entry without an address of which nobody knows where it is elected.
func (k vipValidator) hooksOnly() {
	v := k.v
	if !v.HooksOnly {
		return
	}
	switch {
	case v.External():
		k.fail("hooksOnly", "true with mode external, in which nobody is elected; want one of the two")
	case v.Local():
		k.fail("hooksOnly", "true with election local, in which nobody is elected; want election vrrp or raft")
	case v.Spread.Via != ViaOff:
		k.fail("spread.via", "%s with hooksOnly, by which keepvip holds no address; want off", v.Spread.Via)
	case v.Announce.By == byRoute:
		k.fail("announce.by", "route with hooksOnly, by which keepvip holds no address; want none")
	case len(v.Elsewhere) > 0:
		k.fail("elsewhere", "set with hooksOnly, by which keepvip binds nothing; want none")
	}
	if len(v.Addresses) > 0 {
		return
	}
	switch {
	case v.Election == ElectionRaft:
		k.fail("addresses", "none with election raft, which knows an entry by its address; want the one that hooks move, such as [203.0.113.7]")
	case v.VRRP.ID == 0:
		k.fail("vrrp.id", "missing, and there is no address that it could come from; want 1 to 255, the same on all nodes")
	case v.Interface == "":
		k.fail("interface", "missing, and there is no address to choose it by; want the interface where the other nodes are heard")
	}
}
