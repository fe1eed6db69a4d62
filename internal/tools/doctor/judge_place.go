package doctor

import (
	"errors"
	"slices"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// judgePlace finds the interface; ok is false without one.
func judgePlace(out *findings, f Facts, v config.VIP) (l link.Link, ok bool) {
	if f.Links == nil {
		return l, false
	}
	a := first(v)
	l, err := link.Choose(f.Links, a, v.Interface)
	switch {
	case errors.Is(err, link.ErrNoInterface):
		out.say(v.Name, code.InterfaceMissing, Error, "no interface is called %s", v.Interface)
		return l, false
	case err != nil && v.Local():
		return l, false // routers send it here, whatever subnets this host has
	case err != nil:
		out.say(v.Name, code.NoSubnet, Error, "no interface has a subnet that contains %s", a)
		return l, false
	}
	if v.Interface != "" && !v.Local() && !v.HooksOnly && !f.inSubnet(l, a) && link.NotOwn(f.Links, a, f.virtual()) == nil {
		out.say(v.Name, code.NoSubnet, Warning, "no subnet of %s contains %s", l.Name, a)
	}
	master := slices.IndexFunc(f.Links, func(o link.Link) bool { return l.Master != 0 && o.Index == l.Master })
	if _, has := link.Source(l, a); !has && master >= 0 {
		out.say(v.Name, code.PortOfAnother, Error, "%s is a port of %s, which has the addresses of this host", l.Name, f.Links[master].Name)
	} else if !has {
		out.say(v.Name, code.NoOwnAddress, Error, "%s has no address of its own to take part in the election of %s with", l.Name, a)
	}
	return l, true
}

// judgeAddresses looks at what the addresses are on this host beside virtual.
func judgeAddresses(out *findings, f Facts, v config.VIP) {
	if v.HooksOnly {
		return // whether a host has the address says nothing about who is elected
	}
	for _, p := range v.Addresses {
		if link.NotOwn(f.Links, p.Addr(), f.virtual()) != nil {
			out.say(v.Name, code.OwnAddress, Error, "%s is this host's own address", p.Addr())
			continue
		}
		for _, l := range f.Links {
			for _, a := range l.Addresses {
				if a.Prefix.Addr() == p.Addr() && !a.Ours && f.Daemon == nil {
					out.say(v.Name, code.BoundByOther, Warning, "%s is on %s already, and keepvip has not put it there", p.Addr(), l.Name)
				}
			}
		}
	}
}

// judgeContainers looks for an address in a network that belongs to pods, or to containers of this host.
func judgeContainers(out *findings, f Facts, v config.VIP) {
	for _, p := range v.Addresses {
		if name, _, found := link.ContainerNetwork(f.Links, p.Addr(), f.virtual(), v.Interface); found {
			out.say(v.Name, code.ClusterNetwork, Error, "%s is in the subnet of %s, which belongs to containers", p.Addr(), name)
		}
	}
}

func judgeLink(out *findings, f Facts, v config.VIP, l link.Link) {
	if !l.Up {
		out.add(Finding{Code: code.LinkDown, Severity: Error, VIP: v.Name, What: l.Name + " is down, or has no carrier"})
	}
	for _, p := range v.Addresses {
		if link.Suitable(l, p) != nil {
			out.say(v.Name, code.NetworkAddress, Error, "%s is the network or broadcast address (IPv6: the routers' anycast address) of a subnet of %s", p.Addr(), l.Name)
		}
	}
	if mtu := f.MTU[l.Name]; mtu > 0 && mtu < leastMTU {
		out.say(v.Name, code.SmallMTU, Warning, "%s has an MTU of %d bytes, want %d: the members' messages are cut into fragments", l.Name, mtu, leastMTU)
	}
	judgeTwin(out, f, v, l)
}

// leastMTU is what IPv6 demands of every link (RFC 8200, section 5), and room for the longest message.
const leastMTU = 1280

// judgeTwin looks for a second interface in the subnet of the address.
func judgeTwin(out *findings, f Facts, v config.VIP, l link.Link) {
	a := first(v)
	if !a.Is4() || v.HooksOnly {
		return
	}
	for _, o := range f.Links {
		if o.Index == l.Index || o.Loopback || o.Name == ipvsLink || !f.inSubnet(o, a) || f.effective("ipv4", "arp_announce", o.Name) >= 2 {
			continue
		}
		out.say(v.Name, code.SecondLink, Warning, "%s has an address in the subnet of %s, too, and arp_announce less than 2: it asks in the name of the address", o.Name, a)
	}
}
