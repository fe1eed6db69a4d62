package link

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// route is a default route as far as it matters to who asks for its routers.
type route struct {
	metric uint32
	hops   []hop
}

// hop is one next hop of a route.
type hop struct {
	index  int // of the interface
	router netip.Addr
}

// DefaultRouters lists the next hops of the default routes of a family (IPv6: v6) that leave by the interface, the best metric first. They are
// those of the main table. A next hop need not have the route's family (RFC 8950), and has no zone. None is no error.
//
// The kernel lists its whole table for it, which on a router of a provider is long: ask seldom.
func (h *Handle) DefaultRouters(index int, v6 bool) ([]netip.Addr, error) {
	var msgs [][]byte
	var err error
	ask := message(make([]byte, unix.SizeofRtMsg))
	ask[0] = family(v6)
	onOwnStack(func() { msgs, err = h.kernel.dump(unix.RTM_GETROUTE, unix.RTM_NEWROUTE, ask) })
	if err != nil {
		return nil, fmt.Errorf("link: list routes: %w", err)
	}
	var routes []route
	for _, m := range msgs {
		r, ok, err := parseDefaultRoute(m, family(v6))
		if err != nil {
			return nil, fmt.Errorf("link: list routes: %w", err)
		}
		if ok {
			routes = append(routes, r)
		}
	}
	return routersOf(routes, index), nil
}

func family(v6 bool) byte {
	if v6 {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

func routersOf(routes []route, index int) []netip.Addr {
	slices.SortStableFunc(routes, func(a, b route) int { return cmp.Compare(a.metric, b.metric) })
	var out []netip.Addr
	for _, r := range routes {
		for _, hop := range r.hops {
			if hop.index == index && hop.router.IsValid() && !slices.Contains(out, hop.router) {
				out = append(out, hop.router)
			}
		}
	}
	return out
}

// parseDefaultRoute reads the payload of an RTM_NEWROUTE message: a struct rtmsg and its attributes. It reports false for every route
// but a default one.
func parseDefaultRoute(b []byte, family byte) (route, bool, error) {
	if len(b) < unix.SizeofRtMsg {
		return route{}, false, fmt.Errorf("route message of %d bytes, want %d or more", len(b), unix.SizeofRtMsg)
	}
	flags := binary.NativeEndian.Uint32(b[8:])
	if b[0] != family || b[1] != 0 || b[2] != 0 || b[7] != unix.RTN_UNICAST || flags&unix.RTM_F_CLONED != 0 {
		return route{}, false, nil
	}
	attrs, err := attributes(b[unix.SizeofRtMsg:])
	if err != nil {
		return route{}, false, err
	}
	table := uint32(b[4])
	if v := attrs[unix.RTA_TABLE]; len(v) == 4 {
		table = binary.NativeEndian.Uint32(v)
	}
	if table != unix.RT_TABLE_MAIN {
		return route{}, false, nil
	}
	var r route
	if v := attrs[unix.RTA_PRIORITY]; len(v) == 4 {
		r.metric = binary.NativeEndian.Uint32(v)
	}
	if v := attrs[unix.RTA_OIF]; len(v) == 4 {
		r.hops = append(r.hops, hop{int(binary.NativeEndian.Uint32(v)), routerIn(attrs)})
	}
	several, err := parseHops(attrs[unix.RTA_MULTIPATH])
	r.hops = append(r.hops, several...)
	return r, err == nil, err
}

// parseHops reads the list of struct rtnexthop, each with attributes of its own, of a route with several next hops.
func parseHops(b []byte) ([]hop, error) {
	var hops []hop
	for len(b) >= unix.SizeofRtNexthop {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofRtNexthop || n > len(b) {
			return nil, fmt.Errorf("next hop of %d bytes in %d", n, len(b))
		}
		attrs, err := attributes(b[unix.SizeofRtNexthop:n])
		if err != nil {
			return nil, err
		}
		hops = append(hops, hop{int(binary.NativeEndian.Uint32(b[4:])), routerIn(attrs)})
		b = b[min((n+3)&^3, len(b)):]
	}
	return hops, nil
}

// routerIn is the next hop's address: RTA_GATEWAY, or RTA_VIA (an address family and an address) when it has another family.
func routerIn(attrs map[uint16][]byte) netip.Addr {
	a, ok := netip.AddrFromSlice(attrs[unix.RTA_GATEWAY])
	if v := attrs[unix.RTA_VIA]; !ok && len(v) > 2 {
		a, _ = netip.AddrFromSlice(v[2:])
	}
	return a
}
