package doctor

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// Judge says what is not as it should be, the worst first. The same facts make the same findings.
func Judge(f Facts) []Finding {
	out := &findings{}
	for _, v := range f.VIPs {
		if f.ipv6Off() && first(v).Is6() {
			out.say(v.Name, code.NoIPv6, Error, "IPv6 is off on this host, and %s is elected by IPv6", first(v))
			continue // that no interface has a subnet for it is for that reason
		}
		place, ok := judgePlace(out, f, v)
		judgeAddresses(out, f, v)
		judgeContainers(out, f, v)
		judgeClusterSubnets(out, f, v)
		judgeCheck(out, f, v)
		judgeRouting(out, f, v)
		if r := f.Replies[v.Name]; r.Lost != "" {
			out.add(Finding{Code: code.RepliesLost, Severity: Error, VIP: v.Name, What: r.Lost, Remedy: r.Remedy})
		}
		if why := f.Uncovered[v.Name]; why != "" {
			out.add(Finding{Code: code.NotCovered, Severity: Error, VIP: v.Name, What: why + ", so clients are refused while this host holds the address"})
		}
		if why := f.Unreached[v.Name]; why != "" {
			out.add(Finding{Code: code.HeldUnreached, Severity: Error, VIP: v.Name, What: why})
		}
		if !ok {
			continue
		}
		judgeLink(out, f, v, place)
		judgeSysctls(out, f, v, place)
		judgeVirtualMAC(out, f, v, place)
		judgeSpread(out, f, v, place)
		judgeForwarding(out, f, v, place)
		for _, w := range f.Wires {
			if w.Interface == place.Name && w.IPv4 == v.First().Is4() {
				judgeWire(out, f, v, w)
			}
		}
		for _, e := range f.Echoes {
			if e.Interface == place.Name && e.IPv4 == v.First().Is4() && v.Election == config.ElectionVRRP {
				judgeDetector(out, v, e)
			}
		}
	}
	judgeTracking(out, f)
	for _, e := range f.External {
		judgeExternal(out, f, e)
	}
	judgePeers(out, f)
	judgeHost(out, f)
	judgeLateness(out, f)
	judgeMachine(out, f)
	judgeCluster(out, f)
	judgeFiles(out, f)
	judgeKubelet(out, f)
	return out.sorted()
}

// first is the address that carries the election.
func first(v config.VIP) netip.Addr { return v.First() }

func addressesOf(v config.VIP) []netip.Addr {
	out := make([]netip.Addr, len(v.Addresses))
	for i, p := range v.Addresses {
		out[i] = p.Addr()
	}
	return out
}

// ipv6Off tells whether no interface has IPv6.
func (f Facts) ipv6Off() bool {
	n, _ := f.sysctl("ipv6", "disable_ipv6", "all")
	return f.NoIPv6 || n != 0 && !slices.ContainsFunc(f.Links, func(l link.Link) bool {
		return !l.Loopback && slices.ContainsFunc(l.Addresses, func(a link.Address) bool { return a.Prefix.Addr().Is6() })
	})
}

// virtual are all addresses that no host owns.
func (f Facts) virtual() (out []netip.Addr) {
	for _, v := range f.VIPs {
		out = append(out, addressesOf(v)...)
	}
	return out
}

// inSubnet tells whether the host's own networks on l contain a. Those of the virtual addresses do not count.
func (f Facts) inSubnet(l link.Link, a netip.Addr) bool {
	return slices.ContainsFunc(l.Addresses, func(o link.Address) bool {
		s := o.Subnet()
		return !o.Ours && s.IsValid() && s.Contains(a) && !slices.Contains(f.virtual(), o.Prefix.Addr())
	})
}

// sysctl is a value of an interface, and known false when it was not read.
func (f Facts) sysctl(family, name, of string) (n int, known bool) {
	n, known = f.Sysctls["net/"+family+"/conf/"+of+"/"+name]
	return n, known
}

// effective is the greater one of "all" and the interface, as the kernel has it for most of those that are about ARP.
func (f Facts) effective(family, name, of string) int {
	all, _ := f.sysctl(family, name, "all")
	one, _ := f.sysctl(family, name, of)
	return max(all, one)
}
