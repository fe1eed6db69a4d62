package hostroute

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Table is a routing table, and the number by which the routes in it are known as somebody's (rtm_protocol).
type Table struct {
	Number   int `json:"table"`    // 1 to 2^31-1; 254 is the main one
	Protocol int `json:"protocol"` // 5 to 255
}

// Handle is a connection to the kernel's routing tables, in the network namespace in which it was opened. It may be used from several
// goroutines at once.
type Handle struct{ netlink *netlink.Handle }

// replyTimeout bounds one exchange with the kernel, in seconds.
const replyTimeout = 10

// Open opens one.
func Open() (*Handle, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("hostroute: open rtnetlink: %w", err)
	}
	// With it the kernel lists the one table that is asked for (Linux 4.20).
	_ = h.SetStrictCheck(true)
	if err := h.SetSocketTimeout(replyTimeout * 1e9); err != nil {
		h.Close()
		return nil, fmt.Errorf("hostroute: open rtnetlink: %w", err)
	}
	return &Handle{h}, nil
}

// Close ends the connection. Routes stay.
func (h *Handle) Close() { h.netlink.Close() }

// Put adds the routes to addresses by a device, or moves them to it. It goes on after an error with the others, and joins the errors.
// The mark changes nothing for packets. With another mark than before, the route that is there is changed without a gap, and the kernel tells
// those who watch the table of it once more. The mark is a metric that neither BIRD nor FRR reads (fastopen_no_cookie, RFC 7413), so a
// daemon that has the route takes it for the same one, and tells its routers nothing.
func (h *Handle) Put(t Table, index int, addresses []netip.Addr, mark bool) error {
	var errs []error
	for _, a := range addresses {
		r := t.route(a)
		r.LinkIndex = index
		if mark {
			r.FastOpenNoCookie = 1
		}
		if a.Is4() {
			r.Scope = netlink.SCOPE_LINK
		}
		if err := h.netlink.RouteReplace(r); err != nil {
			errs = append(errs, fmt.Errorf("hostroute: route to %s in table %d: %w", a, t.Number, err))
		}
	}
	return errors.Join(errs...)
}

// Remove takes the routes to addresses away, by whichever device they are. One that is not there is no error.
func (h *Handle) Remove(t Table, addresses []netip.Addr) error {
	var errs []error
	for _, a := range addresses {
		r := t.route(a)
		r.Scope = netlink.SCOPE_NOWHERE // which stands for any
		if err := h.netlink.RouteDel(r); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("hostroute: remove the route to %s from table %d: %w", a, t.Number, err))
		}
	}
	return errors.Join(errs...)
}

// Missing are those of the addresses to which the table has no route by that device.
func (h *Handle) Missing(t Table, index int, addresses []netip.Addr) ([]netip.Addr, error) {
	there := map[netip.Addr]bool{}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		err := h.each(family, t, func(a netip.Addr, at int) { there[a] = there[a] || at == index })
		if err != nil {
			return nil, err
		}
	}
	var out []netip.Addr
	for _, a := range addresses {
		if !there[a] {
			out = append(out, a)
		}
	}
	return out, nil
}

// each calls do with each route to a single address that is in the table with its protocol, and the index of its device.
func (h *Handle) each(family int, t Table, do func(a netip.Addr, index int)) error {
	filter := &netlink.Route{Table: t.Number, Protocol: netlink.RouteProtocol(t.Protocol)}
	err := h.netlink.RouteListFilteredIter(family, filter, netlink.RT_FILTER_TABLE|netlink.RT_FILTER_PROTOCOL, func(r netlink.Route) bool {
		if r.Dst == nil {
			return true
		}
		ones, bits := r.Dst.Mask.Size()
		if a, ok := netip.AddrFromSlice(r.Dst.IP); ok && ones == bits {
			do(a.Unmap(), r.LinkIndex)
		}
		return true
	})
	// A kernel without IPv6 has no such routes, and one may not have the table yet.
	if err != nil && !errors.Is(err, unix.EAFNOSUPPORT) && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("hostroute: list table %d: %w", t.Number, err)
	}
	return nil
}

func (t Table) route(a netip.Addr) *netlink.Route {
	return &netlink.Route{
		Dst: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}, Table: t.Number, Protocol: netlink.RouteProtocol(t.Protocol),
	}
}

// Loopback is the index of the device on which routes hang that nothing takes away.
func Loopback() (int, error) {
	i, err := net.InterfaceByName("lo")
	if err != nil {
		return 0, fmt.Errorf("hostroute: %w", err)
	}
	return i.Index, nil
}

// Cleanup takes away the routes by the loopback device that an earlier run has left in a table, and returns their addresses. Those to keep
// stay; what hung on a TUN device went with its process. In a table that others use, too, the protocol tells whose a route is.
func (h *Handle) Cleanup(t Table, keep ...netip.Addr) (gone []netip.Addr, err error) {
	loopback, err := Loopback()
	if err != nil {
		return nil, err
	}
	kept := map[netip.Addr]bool{}
	for _, a := range keep {
		kept[a] = true
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		err := h.each(family, t, func(a netip.Addr, index int) {
			if index == loopback && !kept[a] {
				gone = append(gone, a)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return gone, h.Remove(t, gone)
}
