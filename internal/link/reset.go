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

// ErrNoDestroy: this kernel was built without CONFIG_INET_DIAG_DESTROY.
var ErrNoDestroy = errors.New("the kernel cannot destroy sockets (CONFIG_INET_DIAG_DESTROY)")

// ResetTCP ends every TCP connection whose local address is one of addrs, and returns how many there were. Each peer gets a reset, as long as
// the address is still bound and frames from it still leave: so this comes before either is taken away. Listening sockets stay. It needs
// CAP_NET_ADMIN. The error wraps ErrNoDestroy where that is the cause.
func ResetTCP(addrs ...netip.Addr) (n int, err error) {
	s, err := nl.Subscribe(unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, fmt.Errorf("link: open socket diagnostics: %w", err)
	}
	defer s.Close()
	d := newDiag(s)
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
		done, err := d.reset(family, addrs, wanted)
		n += done
		if err != nil {
			return n, fmt.Errorf("link: reset the connections of %s: %w", addrs[0], err)
		}
	}
	return n, nil
}

// diag is a connection to the kernel's socket diagnostics.
type diag struct{ handle *nl.SocketHandle }

func newDiag(s *nl.NetlinkSocket) *diag { return &diag{&nl.SocketHandle{Socket: s}} }

func (d *diag) execute(kind, flags int, data message) ([][]byte, error) {
	r := nl.NewNetlinkRequest(kind, flags)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_INET_DIAG: d.handle}
	r.AddData(data)
	return execute(r, unix.NETLINK_INET_DIAG, 0)
}

func (d *diag) reset(family byte, addrs []netip.Addr, wanted map[netip.Addr]bool) (n int, err error) {
	ids, err := d.list(family, localIs(addrs))
	if err != nil {
		return 0, err
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
	return n, nil
}

// destroy destroys a socket. It is false of one that has ended by itself meanwhile.
func (d *diag) destroy(family byte, id []byte) (bool, error) {
	_, err := d.execute(nl.SOCK_DESTROY, unix.NLM_F_ACK, diagRequest(family, 0, id))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.EOPNOTSUPP):
		return false, ErrNoDestroy
	case errors.Is(err, unix.ENOENT):
		return false, nil
	}
	return false, err
}

// requestBytecode is INET_DIAG_REQ_BYTECODE of linux/inet_diag.h.
const requestBytecode = 1

// connections are the states in which there is a peer to tell, as bits of 1 << TCP_x: not TIME_WAIT (6), CLOSE (7) and LISTEN (10).
const connections = 0xffe &^ (1<<6 | 1<<7 | 1<<10)

// list returns the identities of the family's sockets that a program picks; without one, of all.
func (d *diag) list(family byte, program []byte) ([][]byte, error) {
	var ids [][]byte
	for try := 1; ; try++ {
		ask := diagRequest(family, connections, make([]byte, sizeofSocketID))
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
