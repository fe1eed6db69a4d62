package doctor

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// judgeSysctls looks at what the kernel was told to do about the addresses of a link.
func judgeSysctls(out *findings, f Facts, v config.VIP, l link.Link) {
	if slices.ContainsFunc(addressesOf(v), isIPv4) {
		judgeIPv4(out, f, v, l)
	}
	if slices.ContainsFunc(addressesOf(v), isIPv6) {
		judgeIPv6(out, f, v, l)
	}
}

func judgeIPv4(out *findings, f Facts, v config.VIP, l link.Link) {
	say := out.about(v.Name, "")
	switch ignore := f.effective("ipv4", "arp_ignore", l.Name); {
	case ignore == 8:
		say(code.ARPIgnore, Error, "arp_ignore is 8 on %s: the kernel answers no ARP request there", l.Name)
	case ignore == 2 && !f.inSubnet(l, first(v)):
		say(code.ARPIgnore, Error, "arp_ignore is 2 on %s, and no subnet there contains %s: the kernel answers no ARP request for it", l.Name, first(v))
	case ignore == 3 && v.Scope != config.ScopeGlobal && v.Scope != "":
		say(code.ARPIgnore, Warning, "arp_ignore is 3 on %s, and the scope of the address is %s: the kernel may answer no ARP request for it", l.Name, v.Scope)
	}
	own := v.VirtualMACInterface() != "" // whose settings are keepvip's
	if !own && f.effective("ipv4", "arp_filter", l.Name) != 0 {
		say(code.ARPFilter, Warning, "arp_filter is on for %s: the kernel answers only those to whom a route leaves there", l.Name)
	}
	if f.effective("ipv4", "proxy_arp", l.Name) != 0 {
		say(code.ProxyARP, Warning, "proxy_arp is on for %s: this host may answer for %s while another one holds it", l.Name, first(v))
	}
	if !own && f.effective("ipv4", "rp_filter", l.Name) == 1 && !f.Replies[v.Name].ByRule && len(f.Default4) > 0 && !slices.Contains(f.Default4, l.Name) {
		say(code.StrictRPFilter, Warning, "rp_filter is strict on %s, and the default route leaves by %s: what clients of other subnets send to the address is dropped",
			l.Name, f.Default4[0])
	}
	if n := f.Sysctls["net/ipv4/ip_nonlocal_bind"]; n != 0 {
		say(code.NonlocalBind, Note, "ip_nonlocal_bind is on: a program here can speak from the address while another host holds it")
	}
}

func judgeIPv6(out *findings, f Facts, v config.VIP, l link.Link) {
	say := out.about(v.Name, "")
	if n, known := f.sysctl("ipv6", "disable_ipv6", l.Name); known && n != 0 || f.NoIPv6 {
		say(code.NoIPv6, Error, "IPv6 is off on %s, and an address of %s is of IPv6", l.Name, v.Name)
		return
	}
	if dad := f.effective("ipv6", "accept_dad", l.Name); dad == 2 {
		say(code.DADDisables, Warning, "accept_dad is 2 on %s: one duplicate of its link-local address switches IPv6 off there", l.Name)
	}
	forwards, _ := f.sysctl("ipv6", "forwarding", l.Name)
	accepts, _ := f.sysctl("ipv6", "accept_ra", l.Name)
	advertised := slices.ContainsFunc(l.Addresses, func(a link.Address) bool {
		return a.Prefix.Addr().Is6() && !a.Ours && a.Valid > 0
	})
	if forwards != 0 && accepts == 1 && advertised {
		say(code.RouterAdverts, Warning, "%s has an address that a router has given, and forwards with accept_ra 1: the kernel hears no router any more, and the address ends", l.Name)
	}
}

func isIPv4(a netip.Addr) bool { return a.Is4() }
func isIPv6(a netip.Addr) bool { return a.Is6() }
