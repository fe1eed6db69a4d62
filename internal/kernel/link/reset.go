package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ErrNoDestroy: this kernel was built without CONFIG_INET_DIAG_DESTROY, or is too old to destroy sockets in that state.
var ErrNoDestroy = errors.New("the kernel cannot destroy these sockets: it was built without CONFIG_INET_DIAG_DESTROY, or is too old")

// ResetTCP ends every TCP connection whose local address is one of addrs, and returns how many there were. Each peer gets a reset, as long as
// the address is still bound and frames from it still leave: so this comes before either is taken away. Listening sockets stay. It needs
// CAP_NET_ADMIN. The error wraps ErrNoDestroy where that is the cause.
func ResetTCP(addrs ...netip.Addr) (int, error) {
	return destroy("reset the connections", addrs, connections)
}

// ForgetEnded destroys the sockets of connections that have ended, and whose local address is one of addrs: the kernel remembers them for a
// minute (TIME_WAIT, RFC 9293 section 3.6.1), and takes what comes from the same port of the same client for theirs. It returns how many
// there were. It needs CAP_NET_ADMIN. The error wraps ErrNoDestroy where the kernel cannot do it, which older kernels cannot.
func ForgetEnded(addrs ...netip.Addr) (int, error) {
	return destroy("forget the ended connections", addrs, 1<<timeWait)
}

// destroy destroys the sockets in those states whose local address is one of addrs; purpose is for the error.
func destroy(purpose string, addrs []netip.Addr, states uint32) (n int, err error) {
	s, err := nl.Subscribe(unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, fmt.Errorf("link: open socket diagnostics: %w", err)
	}
	defer s.Close()
	if n, err = newDiag(s).destroyAt(addrs, states); err != nil {
		return n, fmt.Errorf("link: %s of %s: %w", purpose, addrs[0], err)
	}
	return n, nil
}

// diag is a connection to the kernel's socket diagnostics.
type diag struct {
	handle  *nl.SocketHandle
	refused bool // the kernel could not destroy a socket
}

func newDiag(s *nl.NetlinkSocket) *diag { return &diag{handle: &nl.SocketHandle{Socket: s}} }

func (d *diag) execute(kind, flags int, data message) ([][]byte, error) {
	r := nl.NewNetlinkRequest(kind, flags)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_INET_DIAG: d.handle}
	r.AddData(data)
	return execute(r, unix.NETLINK_INET_DIAG, 0)
}

// destroyAt destroys the sockets in those states whose local address is one of addrs. The error is ErrNoDestroy only if the kernel could
// destroy none: an older one refuses those that no program has any more, and only those.
func (d *diag) destroyAt(addrs []netip.Addr, states uint32) (n int, err error) {
	// A server that listens on both families at once has its IPv4 connections on IPv6 sockets.
	families := []byte{unix.AF_INET6}
	if slices.ContainsFunc(addrs, netip.Addr.Is4) {
		families = []byte{unix.AF_INET, unix.AF_INET6}
	}
	wanted := make(map[netip.Addr]bool, len(addrs))
	for _, a := range addrs {
		wanted[a] = true
	}
	for _, family := range families {
		ids, err := d.list(family, states, localIs(addrs))
		if err != nil {
			return n, err
		}
		for _, id := range ids {
			if !wanted[localOf(family, id).Addr()] {
				continue
			}
			done, err := d.destroy(family, id)
			if err != nil {
				return n, err
			}
			if done {
				n++
			}
		}
	}
	return n, d.able(n)
}

// destroy destroys a socket. It is false of one that has ended by itself meanwhile, and of one that the kernel refuses to destroy.
func (d *diag) destroy(family byte, id []byte) (bool, error) {
	_, err := d.execute(nl.SOCK_DESTROY, unix.NLM_F_ACK, diagRequest(family, 0, id))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.EOPNOTSUPP):
		d.refused = true
		return false, nil
	case errors.Is(err, unix.ENOENT):
		return false, nil
	}
	return false, err
}

// able is ErrNoDestroy if sockets were to be destroyed and none was, because the kernel refuses.
func (d *diag) able(destroyed int) error {
	if destroyed == 0 && d.refused {
		return ErrNoDestroy
	}
	return nil
}

// requestBytecode is INET_DIAG_REQ_BYTECODE of linux/inet_diag.h.
const requestBytecode = 1

// The states of a socket, TCP_x of linux/tcp_states.h.
const (
	timeWait = 6
	closed   = 7
	listen   = 10
)

// connections are the states in which there is a peer to tell, as bits of 1 << TCP_x.
const connections = 0xffe &^ (1<<timeWait | 1<<closed | 1<<listen)

// list returns the identities of the family's sockets in those states that a program picks; without one, of all.
func (d *diag) list(family byte, states uint32, program []byte) ([][]byte, error) {
	var ids [][]byte
	for try := 1; ; try++ {
		ask := diagRequest(family, states, make([]byte, sizeofSocketID))
		if program != nil {
			ask = attribute(ask, requestBytecode, program)
		}
		msgs, err := d.execute(nl.SOCK_DIAG_BY_FAMILY, unix.NLM_F_DUMP, ask)
		if errors.Is(err, nl.ErrDumpInterrupted) && try < dumpTries {
			continue
		}
		if err != nil && !errors.Is(err, nl.ErrDumpInterrupted) {
			return nil, err
		}
		for _, m := range msgs {
			// struct inet_diag_msg: family, state, timer, retransmits, then the identity.
			if len(m) >= 4+sizeofSocketID {
				ids = append(ids, m[4:4+sizeofSocketID])
			}
		}
		return ids, nil
	}
}

// sizeofSocketID is that of struct inet_diag_sockid: ports, addresses, interface and cookie.
const sizeofSocketID = 48

// localOf and remoteOf read the two ends of an identity.
func localOf(family byte, id []byte) netip.AddrPort  { return endOf(family, id[4:20], id[0:2]) }
func remoteOf(family byte, id []byte) netip.AddrPort { return endOf(family, id[20:36], id[2:4]) }

func endOf(family byte, addr, port []byte) netip.AddrPort {
	a := netip.AddrFrom16([16]byte(addr)).Unmap()
	if family == unix.AF_INET {
		a = netip.AddrFrom4([4]byte(addr[:4]))
	}
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(port))
}

// diagRequest is a struct inet_diag_req_v2 for TCP.
func diagRequest(family byte, states uint32, id []byte) message {
	m := message{family, unix.IPPROTO_TCP, 0, 0}
	m = binary.NativeEndian.AppendUint32(m, states)
	return append(m, id...)
}

// The conditions of a program (linux/inet_diag.h).
const (
	sourceCondition = 7 // INET_DIAG_BC_S_COND
	destCondition   = 8 // INET_DIAG_BC_D_COND
	anyPort         = -1
)

// localIs picks by the local address, if there is one alone.
func localIs(addrs []netip.Addr) []byte {
	if len(addrs) != 1 {
		return nil
	}
	return hostIs(sourceCondition, addrs[0], anyPort)
}

// hostIs is the program by which the kernel picks the sockets: one condition on an address and port. Its one jump is past the end, which is
// where a socket goes that does not match.
func hostIs(condition byte, addr netip.Addr, port int32) []byte {
	family := byte(unix.AF_INET)
	if addr.Is6() {
		family = unix.AF_INET6
	}
	size := 4 + 8 + addr.BitLen()/8
	b := []byte{condition, byte(size)}
	b = binary.NativeEndian.AppendUint16(b, uint16(size+4))
	b = append(b, family, byte(addr.BitLen()), 0, 0)
	b = binary.NativeEndian.AppendUint32(b, uint32(port))
	return append(b, addr.AsSlice()...)
}
