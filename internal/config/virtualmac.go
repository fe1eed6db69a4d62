package config

import (
	"fmt"
	"slices"
)

// autoName has the interface of a virtual MAC called by its VRID.
const autoName = "auto"

func virtualMACOptions() []Option {
	return []Option{
		option("vips[].vrrp.virtualMAC", "virtual-mac", "", recreate, one(pattern("name", interfaceName, "the name of an interface that keepvip makes, or auto"), func(t target) *string { return &t.vip.VRRP.VirtualMAC }),
			"The name of an interface (a macvlan) that keepvip makes for the virtual MAC of RFC 9568 and binds the addresses to, or auto for a name by its VRID, such as vrrp.51, and with IPv6 vrrp6.51, as keepalived calls it; "+
				"without it the addresses have the interface's own MAC. The same on all nodes (docs/virtual-mac.md)"),
		option("vips[].vrrp.advertiseFromInterface", "advertise-from-interface", "false", recreate, one(boolean(), func(t target) *bool { return &t.vip.VRRP.AdvertiseFromInterface }),
			"With virtualMAC advertisements have the interface's own MAC as their source, as with keepalived's vmac_xmit_base: for a network that takes frames of one MAC alone from a port, and for peers"),
	}
}

// VirtualMACInterface is the name of the interface that has the addresses with the virtual MAC; empty: there is none.
func (v VIP) VirtualMACInterface() string {
	switch {
	case v.VRRP.VirtualMAC != autoName:
		return v.VRRP.VirtualMAC
	case v.First().Is4():
		return fmt.Sprintf("vrrp.%d", v.VRRP.ID)
	}
	return fmt.Sprintf("vrrp6.%d", v.VRRP.ID)
}

// AdvertisesAsRouter tells whether advertisements have the virtual MAC as their source (RFC 9568, section 7.2).
func (v VIP) AdvertisesAsRouter() bool {
	return v.VRRP.VirtualMAC != "" && !v.VRRP.AdvertiseFromInterface
}

// longestInterface is IFNAMSIZ, less its NUL.
const longestInterface = 15

// virtualMAC refuses what cannot be together with a virtual MAC.
func (k vipValidator) virtualMAC() {
	const key = "vrrp.virtualMAC"
	v, name := k.v, k.v.VirtualMACInterface()
	if name == "" {
		if v.VRRP.AdvertiseFromInterface {
			k.fail("vrrp.advertiseFromInterface", "true without vrrp.virtualMAC, without which it is always so; want both or neither")
		}
		return
	}
	switch {
	case v.Election != ElectionVRRP:
		k.fail(key, "set with election %s, want vrrp: the virtual MAC is that of a Virtual Router", v.Election)
	case v.External():
		k.fail(key, "set with mode external, by which keepvip holds no address; want none")
	case v.HooksOnly:
		k.fail(key, "set with hooksOnly, by which keepvip binds nothing; want none")
	case v.Spread.Via != ViaOff:
		k.fail(key, "set with spread.via %s, by which members answer with MACs of their own; want one of them", v.Spread.Via)
	case len(v.VRRP.Peers) > 0 && !v.VRRP.AdvertiseFromInterface:
		k.fail(key, "set with vrrp.peers, want vrrp.advertiseFromInterface true beside it: to a peer the kernel sends with the interface's own MAC")
	case len(name) > longestInterface:
		k.fail(key, "%s has %d characters, want at most %d, as Linux has it", name, len(name), longestInterface)
	case name == v.Interface:
		k.fail(key, "%s is the interface itself, want a name for one that keepvip makes, or auto", name)
	}
	first := slices.IndexFunc(k.VIPs, func(o VIP) bool { return o.VirtualMACInterface() == name })
	if first < k.i {
		k.fail(key, "%s is also that of %s[%d], want a name of its own for each", name, vipsKey, first)
	}
}
