package link

import (
	"net/netip"

	"github.com/vishvananda/netlink"
)

// HostOf is an address on the link of that index whose host has that MAC, as the kernel's neighbour tables have it, and for which ok says true; the
// zero Addr where there is none.
func HostOf(index int, mac string, ok func(netip.Addr) bool) netip.Addr {
	list, err := netlink.NeighList(index, netlink.FAMILY_ALL)
	if err != nil {
		return netip.Addr{}
	}
	for _, n := range list {
		if a, valid := netip.AddrFromSlice(n.IP); valid && n.HardwareAddr.String() == mac && ok(a.Unmap()) {
			return a.Unmap()
		}
	}
	return netip.Addr{}
}
