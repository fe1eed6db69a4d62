package arp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/arrival"
	"github.com/keepvip/keepvip/internal/base/nonblock"
	"github.com/keepvip/keepvip/internal/base/sockaddr"
)

const (
	// mostVoices bounds what a flood can make Ears remember, and mostRead how many frames are read at once.
	mostVoices, mostRead = 128, 256
	// earsBuffer is for the frames that wait until somebody looks: they are few, and those of a flood are lost.
	earsBuffer = 64 << 10
	// answersWithin is how long after a question an answer of the host counts as one to it.
	answersWithin = time.Second
)

// Ears ask hosts of a link whether they are there, and hear them, without ever waiting: what has come in stays with the kernel until somebody
// looks, and wakes nobody. Safe for concurrent use.
type Ears struct {
	ifi  net.Interface
	from netip.Addr

	waits sync.Mutex // held while one waits in the kernel, for all: each that waits there keeps a thread from the others' work

	mu      sync.Mutex // guards what follows
	fd      int        // -1: closed
	voices  map[netip.Addr]voice
	asked   map[netip.Addr]time.Time
	emptied time.Time // when the socket was last seen empty
	buf     []byte
	oob     [64]byte
}

// voice is a host that was heard.
type voice struct {
	mac      net.HardwareAddr
	at       time.Time
	answered time.Time // when it answered a question last; zero: never
}

// OpenEars makes Ears on ifi, of which Index and Name are used; from is an own address there. It needs CAP_NET_RAW.
func OpenEars(ifi *net.Interface, from netip.Addr) (*Ears, error) {
	fd, err := openEars(ifi.Index, from.WithZone(""))
	if err != nil {
		return nil, fmt.Errorf("arp: listen on %s: %w", ifi.Name, privilege(err))
	}
	return &Ears{
		ifi: *ifi, from: from.WithZone(""), fd: fd, voices: map[netip.Addr]voice{}, asked: map[netip.Addr]time.Time{}, emptied: time.Now(),
		buf: make([]byte, frameLen),
	}, nil
}

func openEars(index int, from netip.Addr) (fd int, err error) {
	f := familyOf(from)
	filter, err := bpf.Assemble(earsFilter(from))
	if err != nil {
		return 0, err
	}
	// The runtime would wake up for each frame of a socket that it knows.
	if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	prog := &unix.SockFprog{Len: uint16(len(filter)), Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0]))}
	err = os.NewSyscallError("setsockopt", errors.Join(
		unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, prog),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, earsBuffer),
		arrival.Enable(fd),
	))
	if err == nil {
		err = os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: index, Protocol: sockaddr.NetworkOrder(uint16(f))}))
	}
	if err != nil {
		_ = unix.Close(fd) // of no use
		return 0, err
	}
	return fd, nil
}

// earsFilter passes ARP, and questions and answers of neighbour discovery, of whomever: who asks for others is somebody to ask, too.
func earsFilter(own netip.Addr) []bpf.Instruction {
	const solicitation, advertisement = 135, 136
	if own.Is4() {
		return append(untagged(), bpf.RetConstant{Val: whole})
	}
	return append(
		untagged(),
		bpf.LoadAbsolute{Off: offNextHeader, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: icmpv6, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.LoadAbsolute{Off: offICMPType, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: advertisement, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: solicitation, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.RetConstant{Val: whole},
	)
}

// Ask asks each of these hosts once. With named the question says who asks, as any host's does, and so lets others learn this one; without it
// an ARP probe has no sender (RFC 5227 2.1.1), and goes to a host that has spoken alone, which nobody takes note of. A host that was asked less than gap
// ago is not asked. What cannot be sent counts as lost.
func (e *Ears) Ask(to []netip.Addr, named bool, gap time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.read()
	own, ok := e.mac()
	if !ok {
		return
	}
	now := time.Now()
	if len(e.asked) > mostVoices {
		clear(e.asked)
	}
	for _, a := range to {
		a = a.WithZone("")
		if a.Is4() != e.from.Is4() || now.Sub(e.asked[a]) < gap {
			continue
		}
		e.asked[a] = now
		from, mac := e.from, net.HardwareAddr(nil) // of a host that has another one by now, nobody else would hear
		if !named {
			mac = e.voices[a].mac
		}
		if !named && a.Is4() {
			from = netip.IPv4Unspecified()
		}
		if frame, err := question(own, mac, from, a); err == nil {
			_ = e.send(frame) // as one that is lost
		}
	}
}

func (e *Ears) send(frame []byte) error {
	to := &unix.SockaddrLinklayer{Ifindex: e.ifi.Index, Protocol: binary.NativeEndian.Uint16(frame[12:]), Halen: 6}
	copy(to.Addr[:], frame[:6])
	return nonblock.Sendto(e.fd, frame, to)
}

// mac is the interface's Ethernet address at this moment.
func (e *Ears) mac() (net.HardwareAddr, bool) {
	if e.fd < 0 {
		return nil, false
	}
	sa, err := unix.Getsockname(e.fd)
	ll, ok := sa.(*unix.SockaddrLinklayer)
	if err != nil || !ok || ll.Halen != 6 || ll.Hatype != unix.ARPHRD_ETHER {
		return nil, false
	}
	return net.HardwareAddr(ll.Addr[:6]), true
}

// Heard calls fn for each host whose word has arrived since then, when its last one did, and when it has answered a question since, whoever asked; zero:
// it has not. A word that waited in the socket is as old as it is: it says nothing of what arrives now.
func (e *Ears) Heard(since time.Time, fn func(c Claim, at, answered time.Time)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.read()
	for a, v := range e.voices {
		if !v.at.After(since) {
			continue
		}
		answered := v.answered
		if !answered.After(since) {
			answered = time.Time{}
		}
		fn(Claim{Addr: a, MAC: v.mac}, v.at, answered)
	}
}

// HostOf is an own address of the host of that MAC, of those for which ok says true, as hosts have said; the zero Addr where there is none.
func (e *Ears) HostOf(mac string, ok func(netip.Addr) bool) netip.Addr {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.read()
	for a, v := range e.voices {
		if v.mac.String() == mac && ok(a) {
			return a
		}
	}
	return netip.Addr{}
}

// read takes in what has come in. The caller holds the lock.
func (e *Ears) read() {
	if e.fd < 0 {
		return
	}
	for range mostRead {
		n, oobn, _, err := nonblock.Recvmsg(e.fd, e.buf, e.oob[:])
		now := time.Now()
		if err != nil {
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENETDOWN) {
				continue
			}
			e.emptied = now
			return
		}
		if c, ok := parseClaim(e.buf[:n]); ok {
			e.note(c, now.Add(-arrival.Age(arrival.Stamp(e.oob[:oobn]), now, e.emptied)))
		}
	}
}

// Answers asks for one address, so often, and tells whether somebody on the link answers or claims it. Each answer is waited for so long; the next
// question leaves after half of that. It returns with the first answer that it finds. A question that cannot be asked proves nothing: then somebody is
// taken to answer.
func (e *Ears) Answers(a netip.Addr, times int, wait time.Duration) bool {
	a = a.WithZone("")
	began := e.begin()
	for left := times - 1; left >= 0; left-- {
		if !e.askAgain(a) {
			return true
		}
		pause := wait
		if left > 0 {
			pause /= 2
		}
		if e.hearsUntil(a, began, time.Now().Add(pause)) {
			return true
		}
	}
	return false
}

// hearsUntil waits until an address was heard since began, at most until end. It waits in the kernel: a timer of the runtime would be late by up to a
// millisecond, and the one who asks holds no address meanwhile.
func (e *Ears) hearsUntil(a netip.Addr, began, end time.Time) bool {
	for {
		heard, over := e.wait(a, began, end)
		if heard || over {
			return heard
		}
	}
}

func (e *Ears) wait(a netip.Addr, began, end time.Time) (heard, over bool) {
	e.waits.Lock()
	defer e.waits.Unlock()
	left := time.Until(end)
	heard, over = e.heardSince(a, began), left <= 0
	if !heard && !over {
		t := unix.NsecToTimespec(int64(left))
		_, _ = unix.Ppoll([]unix.PollFd{{Fd: e.descriptor(), Events: unix.POLLIN}}, &t, nil) // ended by a signal, it goes on
	}
	return heard, over
}

// descriptor is the socket's, or -1, of which nothing is heard.
func (e *Ears) descriptor() int32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return int32(e.fd)
}

// begin takes in what has come in until now, and is when that was. What comes in later is never dated before it, whatever the clock does.
func (e *Ears) begin() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.read()
	return e.emptied
}

// askAgain asks once, whenever that was done last, and tells whether the question has left.
func (e *Ears) askAgain(a netip.Addr) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	own, ok := e.mac()
	if !ok || a.Is4() != e.from.Is4() {
		return false
	}
	frame, err := question(own, nil, e.from, a)
	return err == nil && e.send(frame) == nil
}

func (e *Ears) heardSince(a netip.Addr, began time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.read()
	v, known := e.voices[a]
	return known && !v.at.Before(began)
}

// note keeps who was heard. With the list full, the one that was heard longest ago makes room.
func (e *Ears) note(c Claim, at time.Time) {
	if _, known := e.voices[c.Addr]; !known && len(e.voices) >= mostVoices {
		var oldest netip.Addr
		for a, v := range e.voices {
			if !oldest.IsValid() || v.at.Before(e.voices[oldest].at) {
				oldest = a
			}
		}
		delete(e.voices, oldest)
	}
	v := voice{mac: c.MAC, at: at, answered: e.voices[c.Addr].answered}
	if asked, ok := e.asked[c.Addr]; ok && c.Answer && !at.Before(asked) && at.Sub(asked) < answersWithin {
		v.answered = at
	}
	e.voices[c.Addr] = v
}

// Close ends it.
func (e *Ears) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fd < 0 {
		return nil
	}
	err := unix.Close(e.fd)
	e.fd = -1
	return err
}
