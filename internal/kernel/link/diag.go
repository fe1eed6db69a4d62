package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// diag is a connection to the kernel's socket diagnostics.
type diag struct {
	handle  *nl.SocketHandle
	refused bool // the kernel could not destroy a socket
}

func newDiag(s *nl.NetlinkSocket) *diag { return &diag{handle: &nl.SocketHandle{Socket: s}} }

// socket is one of TCP as the kernel lists it.
type socket struct {
	family byte
	id     [sizeofSocketID]byte
	idle   uint32 // for how many milliseconds nothing but acknowledgements has come from its peer; 0 where the kernel does not say
}

// local and remote are its two ends.
func (s *socket) local() netip.AddrPort  { return endOf(s.family, s.id[4:20], s.id[0:2]) }
func (s *socket) remote() netip.AddrPort { return endOf(s.family, s.id[20:36], s.id[2:4]) }

// destroy destroys sockets with one message to the kernel, and tells of each whether it has. It has not of one that has ended by itself
// meanwhile, and of one that the kernel refuses to destroy.
func (d *diag) destroy(sockets []socket) (done []bool, err error) {
	onOwnStack(func() { done, err = d.pipeline(sockets) })
	return done, err
}

func (d *diag) pipeline(sockets []socket) ([]bool, error) {
	s := d.handle.Socket
	s.Lock()
	defer s.Unlock()
	at := make(map[uint32]int, len(sockets))
	var b []byte
	for i := range sockets {
		r := nl.NewNetlinkRequest(nl.SOCK_DESTROY, unix.NLM_F_ACK)
		r.Seq = atomic.AddUint32(&d.handle.Seq, 1)
		r.AddData(diagRequest(sockets[i].family, 0, 0, sockets[i].id[:]))
		at[r.Seq] = i
		b = append(b, r.Serialize()...)
	}
	if err := unix.Sendto(s.GetFd(), b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, fmt.Errorf("send to socket diagnostics: %w", err)
	}
	done := make([]bool, len(sockets))
	var failed error
	all := answersOn(s)
	defer all.end()
	for len(at) > 0 {
		msgs, err := all.next()
		if err != nil {
			return done, fmt.Errorf("receive from socket diagnostics: %w", err)
		}
		for _, m := range msgs {
			i, ours := at[m.Header.Seq]
			if !ours || m.Header.Type != unix.NLMSG_ERROR || len(m.Data) < 4 {
				continue
			}
			delete(at, m.Header.Seq)
			switch errno := unix.Errno(-int32(binary.NativeEndian.Uint32(m.Data))); errno {
			case 0:
				done[i] = true
			case unix.ENOENT:
			case unix.EOPNOTSUPP:
				d.refused = true
			default:
				failed = errno
			}
		}
	}
	return done, failed
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

// list returns the family's sockets in those states that a program picks; without one, all. With extensions the kernel says more of each.
func (d *diag) list(family, extensions byte, states uint32, program []byte) ([]socket, error) {
	ask := diagRequest(family, extensions, states, make([]byte, sizeofSocketID))
	if program != nil {
		ask = attribute(ask, requestBytecode, program)
	}
	return dump(d, ask, func(m []byte) socket { return socketOf(family, m) })
}

// dump reads each struct inet_diag_msg that the kernel answers with. What is read must not keep the message: of a hundred thousand sockets
// that would be 50 MB.
func dump[T any](d *diag, ask message, read func(m []byte) T) (all []T, err error) {
	for range dumpTries {
		all = all[:0]
		r := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, unix.NLM_F_DUMP)
		r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_INET_DIAG: d.handle}
		r.AddData(ask)
		onOwnStack(func() {
			err = r.ExecuteIter(unix.NETLINK_INET_DIAG, 0, func(m []byte) bool {
				if len(m) >= sizeofDiagMessage {
					all = append(all, read(m))
				}
				return true
			})
		})
		if !errors.Is(err, nl.ErrDumpInterrupted) {
			return all, err
		}
	}
	return all, nil
}

// socketOf reads a struct inet_diag_msg: family, state, timer, retransmits, the identity, five numbers, then attributes.
func socketOf(family byte, m []byte) socket {
	s := socket{family: family, id: [sizeofSocketID]byte(m[4:])}
	if attrs, err := attributes(m[sizeofDiagMessage:]); err == nil {
		if info := attrs[infoAttribute]; len(info) >= lastDataReceived+4 {
			s.idle = binary.NativeEndian.Uint32(info[lastDataReceived:])
		}
	}
	return s
}

const (
	sizeofDiagMessage = 72 // of struct inet_diag_msg
	infoAttribute     = 2  // INET_DIAG_INFO
	// tcpInfo asks for that attribute, which is a struct tcp_info of linux/tcp.h.
	tcpInfo          = 1 << (infoAttribute - 1)
	lastDataReceived = 52 // where tcpi_last_data_recv is
)

// sizeofSocketID is that of struct inet_diag_sockid: ports, addresses, interface and cookie.
const sizeofSocketID = 48

func endOf(family byte, addr, port []byte) netip.AddrPort {
	a := netip.AddrFrom16([16]byte(addr)).Unmap()
	if family == unix.AF_INET {
		a = netip.AddrFrom4([4]byte(addr[:4]))
	}
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(port))
}

// diagRequest is a struct inet_diag_req_v2 for TCP.
func diagRequest(family, extensions byte, states uint32, id []byte) message {
	m := message{family, unix.IPPROTO_TCP, extensions, 0}
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
	size := 4 + 8 + addr.BitLen()/8
	b := []byte{condition, byte(size)}
	b = binary.NativeEndian.AppendUint16(b, uint16(size+4))
	b = append(b, family(addr.Is6()), byte(addr.BitLen()), 0, 0)
	b = binary.NativeEndian.AppendUint32(b, uint32(port))
	return append(b, addr.AsSlice()...)
}
