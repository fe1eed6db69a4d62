package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"
)

// Owners tells which user has the other end of a TCP connection of this host.
type Owners struct {
	fd int

	mu  sync.Mutex // one question at a time
	seq uint32     // of the last question
	// of one question: a flood of connections asks some thousand in a second
	request [ownerRequestLen]byte
	answer  [4096]byte
}

// errSocketClosed says that a process has closed its socket already: whose it was is not known any more.
var errSocketClosed = errors.New("link: the socket is closed")

// OpenOwners opens the kernel's socket diagnostics, for which no privilege is needed.
func OpenOwners() (*Owners, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("link: open socket diagnostics: %w", err)
	}
	wait := unix.Timeval{Usec: 100_000} // the kernel answers at once
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("link: open socket diagnostics: %w", err)
	}
	return &Owners{fd: fd}, nil
}

// Close ends it. A nil Owners has nothing to end.
func (o *Owners) Close() error {
	if o == nil {
		return nil
	}
	return unix.Close(o.fd)
}

const (
	ownerRequestLen = unix.NLMSG_HDRLEN + 56 // struct inet_diag_req_v2
	diagUID         = unix.NLMSG_HDRLEN + 64 // in struct inet_diag_msg
	diagInode       = diagUID + 4
	diagByFamily    = 20 // SOCK_DIAG_BY_FAMILY
)

// owner finds the user of the socket whose local address is from and that is connected with to. here is false when this
// network namespace has no such socket: it is another machine's. The error is for one that its process has closed already, and
// for a kernel that does not tell.
func (o *Owners) owner(from, to netip.AddrPort) (uid uint32, here bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seq++
	if err := unix.Sendto(o.fd, ownerRequest(o.request[:], from, to, o.seq), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, false, fmt.Errorf("link: socket diagnostics: %w", err)
	}
	for {
		n, _, err := unix.Recvfrom(o.fd, o.answer[:], 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, false, fmt.Errorf("link: socket diagnostics: %w", err)
		case n >= unix.NLMSG_HDRLEN && binary.NativeEndian.Uint32(o.answer[8:]) == o.seq: // not a late answer to an earlier one
			return parseOwner(o.answer[:n])
		}
	}
}

// Name names the user of this host that has the socket, as owner finds it; "" for another host, and where the kernel does not tell. The error
// is errSocketClosed. A nil Owners knows nobody.
func (o *Owners) Name(from, to netip.AddrPort) (string, error) {
	if o == nil {
		return "", nil
	}
	uid, here, err := o.owner(from, to)
	switch {
	case errors.Is(err, errSocketClosed):
		return "", err
	case err != nil || !here: // a kernel that does not tell must not cost a probe
		return "", nil
	}
	return fmt.Sprintf("user %d", uid), nil
}

func parseOwner(b []byte) (uid uint32, here bool, err error) {
	order := binary.NativeEndian
	switch {
	case len(b) >= unix.NLMSG_HDRLEN+4 && order.Uint16(b[4:]) == unix.NLMSG_ERROR:
		e := unix.Errno(-int32(order.Uint32(b[unix.NLMSG_HDRLEN:])))
		if e == unix.ENOENT {
			return 0, false, nil
		}
		return 0, false, fmt.Errorf("link: socket diagnostics: %w", e)
	case len(b) < diagInode+4 || order.Uint16(b[4:]) != diagByFamily:
		return 0, false, fmt.Errorf("link: socket diagnostics: %d bytes of type %d, want a socket", len(b), order.Uint16(b[4:]))
	case order.Uint32(b[diagInode:]) == 0: // the user is not known any more: the kernel says 0, which is root
		return 0, true, errSocketClosed
	}
	return order.Uint32(b[diagUID:]), true, nil
}

// ownerRequest writes the question into b, which has its length.
func ownerRequest(b []byte, from, to netip.AddrPort, seq uint32) []byte {
	clear(b)
	order := binary.NativeEndian
	order.PutUint32(b, ownerRequestLen)
	order.PutUint16(b[4:], diagByFamily)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST)
	order.PutUint32(b[8:], seq)
	r := b[unix.NLMSG_HDRLEN:]
	r[0], r[1] = family(from.Addr().Is6()), unix.IPPROTO_TCP
	order.PutUint32(r[4:], ^uint32(0)) // in every state
	id := r[8:]
	binary.BigEndian.PutUint16(id, from.Port())
	binary.BigEndian.PutUint16(id[2:], to.Port())
	copy(id[4:20], from.Addr().AsSlice())
	copy(id[20:36], to.Addr().AsSlice())
	order.PutUint64(id[40:], ^uint64(0)) // no cookie
	return b
}
