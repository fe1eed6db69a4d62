package link

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// CountTCP counts the TCP connections whose local address is one of addrs and whose peer is another machine, which is one whose address is
// neither among addrs nor own.
func CountTCP(addrs []netip.Addr, own []netip.Addr) (n int, err error) {
	s, err := nl.Subscribe(unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, fmt.Errorf("link: open socket diagnostics: %w", err)
	}
	defer s.Close()
	d := newDiag(s)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		sockets, err := d.list(family, 0, connections, localIs(addrs))
		if err != nil {
			return n, fmt.Errorf("link: count the connections of %s: %w", addrs[0], err)
		}
		for _, s := range sockets {
			peer := s.remote().Addr()
			if slices.Contains(addrs, s.local().Addr()) && !slices.Contains(addrs, peer) && !slices.Contains(own, peer) {
				n++
			}
		}
	}
	return n, nil
}
