package link

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Connection is one of TCP that a program of this host has, as that program sees it.
type Connection struct{ Local, Remote netip.AddrPort }

// DestroyTCP ends connections at this end: the program that has one gets ECONNABORTED at once, whether it reads, writes or waits for an answer
// to its SYN. It returns those that it has ended; the others are of no program in this network namespace. It needs CAP_NET_ADMIN. The
// error wraps ErrNoDestroy where that is the cause.
func DestroyTCP(open []Connection) (ended []Connection, err error) {
	wanted := make(map[Connection]bool, len(open))
	remotes := make(map[netip.AddrPort]bool)
	for _, c := range open {
		wanted[c], remotes[c.Remote] = true, true
	}
	s, err := nl.Subscribe(unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, fmt.Errorf("link: open socket diagnostics: %w", err)
	}
	defer s.Close()
	d := newDiag(s)
	for remote := range remotes {
		// A program may have an IPv4 connection on an IPv6 socket.
		families := []byte{unix.AF_INET6}
		if remote.Addr().Is4() {
			families = []byte{unix.AF_INET, unix.AF_INET6}
		}
		for _, family := range families {
			done, err := d.destroyTo(family, remote, wanted)
			ended = append(ended, done...)
			if err != nil {
				return ended, fmt.Errorf("link: destroy the connections to %s: %w", remote, err)
			}
		}
	}
	return ended, d.able(len(ended))
}

// destroyTo goes by what the kernel lists, with the cookie of each socket: so it meets no other one, that has the same ports by now.
func (d *diag) destroyTo(family byte, remote netip.AddrPort, wanted map[Connection]bool) (ended []Connection, err error) {
	all, err := d.list(family, 0, connections, hostIs(destCondition, remote.Addr(), int32(remote.Port())))
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s socket) bool { return !wanted[s.connection()] })
	for part := range slices.Chunk(all, perBatch) {
		done, err := d.destroy(part)
		for i, s := range part {
			if i < len(done) && done[i] {
				ended = append(ended, s.connection())
			}
		}
		if err != nil {
			return ended, err
		}
	}
	return ended, nil
}

func (s *socket) connection() Connection { return Connection{s.local(), s.remote()} }
