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
	d := &diag{&nl.SocketHandle{Socket: s}}
	defer s.Close()
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

func (d *diag) execute(kind, flags int, data message) ([][]byte, error) {
	r := nl.NewNetlinkRequest(kind, flags)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_INET_DIAG: d.handle}
	r.AddData(data)
	return execute(r, unix.NETLINK_INET_DIAG, 0)
}

func (d *diag) reset(family byte, addrs []netip.Addr, wanted map[netip.Addr]bool) (n int, err error) {
	ids, err := d.list(family, addrs)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if !wanted[localOf(family, id)] {
			continue
		}
		_, err := d.execute(nl.SOCK_DESTROY, unix.NLM_F_ACK, diagRequest(family, 0, id))
		switch {
		case err == nil:
			n++
		case errors.Is(err, unix.EOPNOTSUPP):
			return n, ErrNoDestroy
		case !errors.Is(err, unix.ENOENT): // it ended by itself meanwhile
			return n, err
		}
	}
	return n, nil
}

// requestBytecode is INET_DIAG_REQ_BYTECODE of linux/inet_diag.h.
const requestBytecode = 1

// connections are the states in which there is a peer to tell, as bits of 1 << TCP_x: not TIME_WAIT (6), CLOSE (7) and LISTEN (10).
const connections = 0xffe &^ (1<<6 | 1<<7 | 1<<10)

// list returns the identities of the family's sockets: of those whose local address is addrs, if it is one alone, else of all.
func (d *diag) list(family byte, addrs []netip.Addr) ([][]byte, error) {
	var ids [][]byte
	for try := 1; ; try++ {
		ask := diagRequest(family, connections, make([]byte, sizeofSocketID))
		if len(addrs) == 1 {
			ask = attribute(ask, requestBytecode, localIs(addrs[0]))
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

// localOf reads the local address of an identity.
func localOf(family byte, id []byte) netip.Addr {
	if family == unix.AF_INET {
		return netip.AddrFrom4([4]byte(id[4:8]))
	}
	return netip.AddrFrom16([16]byte(id[4:20])).Unmap()
}

// diagRequest is a struct inet_diag_req_v2 for TCP.
func diagRequest(family byte, states uint32, id []byte) message {
	m := message{family, unix.IPPROTO_TCP, 0, 0}
	m = binary.NativeEndian.AppendUint32(m, states)
	return append(m, id...)
}

// localIs is the program by which the kernel picks the sockets: one condition on the local address, any port. Its one jump is past the end,
// which is where a socket goes that does not match.
func localIs(addr netip.Addr) []byte {
	const sourceCondition = 7 // INET_DIAG_BC_S_COND
	family := byte(unix.AF_INET)
	if addr.Is6() {
		family = unix.AF_INET6
	}
	size := 4 + 8 + addr.BitLen()/8
	b := []byte{sourceCondition, byte(size)}
	b = binary.NativeEndian.AppendUint16(b, uint16(size+4))
	b = append(b, family, byte(addr.BitLen()), 0, 0)
	b = binary.NativeEndian.AppendUint32(b, 0xffffffff)
	return append(b, addr.AsSlice()...)
}
