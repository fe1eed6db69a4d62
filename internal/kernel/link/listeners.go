package link

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Listener is a socket that listens for connections of TCP.
type Listener struct {
	At netip.AddrPort // the unspecified address: all of its family
	// Both tells of an IPv6 socket on all addresses that those of IPv4 belong to, too (no IPV6_V6ONLY).
	Both bool
}

// covers tells whether a connection to an address and port comes to it. The address need not be on this host.
func (l Listener) covers(at netip.AddrPort) bool {
	switch {
	case l.At.Port() != at.Port():
		return false
	case !l.At.Addr().IsUnspecified():
		return l.At.Addr() == at.Addr()
	}
	return l.At.Addr().Is4() == at.Addr().Is4() || l.Both
}

// ListenElsewhere are the addresses at which programs listen on the port of at while none listens at the address itself; none where one does, where
// nothing listens, or where the kernel may give the connection to somebody else, as by a rule of the packet filter. With loopback those on
// loopback count, too: a port of which only this host knows otherwise.
func ListenElsewhere(all []Listener, at netip.AddrPort, loopback bool) (where []netip.Addr) {
	for _, l := range all {
		switch {
		case l.covers(at):
			return nil
		case l.At.Port() != at.Port() || slices.Contains(where, l.At.Addr()):
		case loopback || !l.At.Addr().IsLoopback():
			where = append(where, l.At.Addr())
		}
	}
	slices.SortFunc(where, netip.Addr.Compare)
	return where
}

// inetDiagV6Only is INET_DIAG_SKV6ONLY of linux/inet_diag.h. The kernel says it of each socket of IPv6 that listens.
const inetDiagV6Only = 11

// Listeners lists the sockets of this network namespace that listen for connections of TCP.
func Listeners() (all []Listener, err error) {
	s, err := nl.Subscribe(unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, fmt.Errorf("link: open socket diagnostics: %w", err)
	}
	defer s.Close()
	d := newDiag(s)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		some, err := dump(d, diagRequest(family, 0, 1<<listen, make([]byte, sizeofSocketID)), func(m []byte) Listener { return listenerOf(family, m) })
		if err != nil {
			return nil, fmt.Errorf("link: list listening sockets: %w", err)
		}
		all = append(all, some...)
	}
	return all, nil
}

func listenerOf(family byte, m []byte) Listener {
	l := Listener{At: endOf(family, m[8:24], m[4:6])}
	if family != unix.AF_INET6 {
		return l
	}
	if netip.AddrFrom16([16]byte(m[8:24])) == netip.IPv6Unspecified() {
		l.Both = true
	}
	attributes, err := nl.ParseRouteAttr(m[sizeofDiagMessage:])
	if err != nil {
		return l
	}
	for _, a := range attributes {
		if a.Attr.Type == inetDiagV6Only && len(a.Value) > 0 && a.Value[0] != 0 {
			l.Both = false
		}
	}
	return l
}
