//go:build linux

package pulse

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/arrival"
	"github.com/keepvip/keepvip/internal/base/checksum"
	"github.com/keepvip/keepvip/internal/base/nonblock"
	"github.com/keepvip/keepvip/internal/base/sockaddr"
)

// An echo request (RFC 792, RFC 4443) bears a number of this socket, and behind that a secret of it and the time: who has not seen it can make no
// answer to it.
const (
	icmpHeader = 8
	cookieLen  = 8
	echoLen    = icmpHeader + cookieLen + 8

	request4, reply4 = 8, 0
	request6, reply6 = 128, 129

	mostRead = 64 // answers taken at a time
)

// EchoSocket sends echo requests on one interface, and takes the answers when it is asked to: nobody wakes up for them. It is not safe for concurrent
// use.
type EchoSocket struct {
	ifi     net.Interface
	v6      bool
	fd      int
	id      uint16
	seq     uint16
	cookie  [cookieLen]byte
	opened  time.Time
	emptied time.Time
	buf     [512]byte
	oob     [128]byte
}

// OpenEchoes opens the socket, which needs CAP_NET_RAW. source is an own address on the interface.
func OpenEchoes(ifi net.Interface, source netip.Addr) (*EchoSocket, error) {
	e := &EchoSocket{ifi: ifi, v6: source.Is6(), opened: time.Now(), emptied: time.Now()}
	_, _ = rand.Read(e.cookie[:]) // never fails
	e.id = binary.BigEndian.Uint16(e.cookie[:])
	domain, protocol := unix.AF_INET, unix.IPPROTO_ICMP
	if e.v6 {
		domain, protocol = unix.AF_INET6, unix.IPPROTO_ICMPV6
	}
	fd, err := unix.Socket(domain, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil, fmt.Errorf("pulse: ICMP socket (needs CAP_NET_RAW): %w", err)
	}
	e.fd = fd
	for _, do := range []func() error{
		e.filter,
		func() error { return unix.BindToDevice(fd, ifi.Name) },
		func() error { return unix.Bind(fd, sockaddr.Of(source, 0, e.ifi.Index)) },
		func() error { return arrival.Enable(fd) },
	} {
		if err := do(); err != nil {
			return nil, errors.Join(fmt.Errorf("pulse: ICMP socket on %s: %w", ifi.Name, err), e.Close())
		}
	}
	return e, nil
}

// filter lets in answers to requests of this socket alone: a host may be asked by many, and a raw socket gets everything.
func (e *EchoSocket) filter() error {
	var program []bpf.Instruction
	if e.v6 {
		program = []bpf.Instruction{
			bpf.LoadAbsolute{Off: 0, Size: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: reply6, SkipTrue: 3},
			bpf.LoadAbsolute{Off: 4, Size: 2},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(e.id), SkipTrue: 1},
			bpf.RetConstant{Val: 512},
			bpf.RetConstant{Val: 0},
		}
	} else {
		program = []bpf.Instruction{
			bpf.LoadMemShift{Off: 0},
			bpf.LoadIndirect{Off: 0, Size: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: reply4, SkipTrue: 3},
			bpf.LoadIndirect{Off: 4, Size: 2},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(e.id), SkipTrue: 1},
			bpf.RetConstant{Val: 512},
			bpf.RetConstant{Val: 0},
		}
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return err
	}
	var code []unix.SockFilter
	for _, r := range raw {
		code = append(code, unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K})
	}
	return unix.SetsockoptSockFprog(e.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
}

// Send sends one echo request. It never waits; one that the kernel does not take is as one that is lost.
func (e *EchoSocket) Send(to netip.Addr) error {
	e.seq++
	b := appendEcho(nil, e.v6, e.id, e.seq, e.cookie, time.Since(e.opened))
	if err := nonblock.Sendto(e.fd, b, sockaddr.Of(to, 0, e.ifi.Index)); err != nil {
		return fmt.Errorf("pulse: echo to %v: %w", to, err)
	}
	return nil
}

func appendEcho(b []byte, v6 bool, id, seq uint16, cookie [cookieLen]byte, at time.Duration) []byte {
	start, kind := len(b), byte(request4)
	if v6 {
		kind = request6 // its checksum is the kernel's
	}
	b = append(b, kind, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, id)
	b = binary.BigEndian.AppendUint16(b, seq)
	b = append(b, cookie[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	if !v6 {
		binary.BigEndian.PutUint16(b[start+2:], ^checksum.Fold(checksum.Add(0, b[start:])))
	}
	return b
}

// parseReply is when the echo was sent that b answers; false for anything else.
func parseReply(b []byte, v6 bool, id uint16, cookie [cookieLen]byte) (sent time.Duration, ok bool) {
	kind := byte(reply6)
	if !v6 {
		kind = reply4
		if len(b) < 20 || len(b) < int(b[0]&15)*4 {
			return 0, false
		}
		b = b[int(b[0]&15)*4:]
	}
	if len(b) != echoLen || b[0] != kind || b[1] != 0 || binary.BigEndian.Uint16(b[4:]) != id || [cookieLen]byte(b[icmpHeader:]) != cookie {
		return 0, false
	}
	sent = time.Duration(binary.BigEndian.Uint64(b[icmpHeader+cookieLen:]))
	return sent, sent >= 0
}

// Answers calls fn for each answer that has come in.
func (e *EchoSocket) Answers(fn func(Echoed)) {
	for range mostRead {
		n, oobn, from, err := nonblock.Recvmsg(e.fd, e.buf[:], e.oob[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		now := time.Now()
		if err != nil {
			e.emptied = now
			return
		}
		sent, ok := parseReply(e.buf[:n], e.v6, e.id, e.cookie)
		if !ok {
			continue
		}
		at := now.Add(-arrival.Age(arrival.Stamp(e.oob[:oobn]), now, e.emptied))
		fn(Echoed{From: from.Addr(), At: at, Took: max(at.Sub(e.opened)-sent, 0)})
	}
}

// Close closes the socket.
func (e *EchoSocket) Close() error { return unix.Close(e.fd) }
