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
	d := &diag{&nl.SocketHandle{Socket: s}}
	defer s.Close()
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		ids, err := d.list(family, addrs)
		if err != nil {
			return n, fmt.Errorf("link: count the connections of %s: %w", addrs[0], err)
		}
		for _, id := range ids {
			peer := peerOf(family, id)
			if slices.Contains(addrs, localOf(family, id)) && !slices.Contains(addrs, peer) && !slices.Contains(own, peer) {
				n++
			}
		}
	}
	return n, nil
}

// peerOf reads the remote address of an identity.
func peerOf(family byte, id []byte) netip.Addr {
	if family == unix.AF_INET {
		return netip.AddrFrom4([4]byte(id[20:24]))
	}
	return netip.AddrFrom16([16]byte(id[20:36])).Unmap()
}
