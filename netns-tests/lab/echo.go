package lab

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// echo answers UDP probes on every address of a node from the address that was
// asked, and writes the node's number into the answer. It belongs to the
// node's kernel side: faults of the program under test do not touch it.
// Each node has a thread of its own: one that answers for others first is late, and an
// address that has left its node meanwhile is one that nobody answers for.
type echo struct {
	measuring
	node byte
	fds  []unix.PollFd
}

func startEcho(n *Node) (*echo, error) {
	e := &echo{node: byte(n.ID)}
	if err := e.open(n); err != nil {
		e.closeSockets()
		return nil, err
	}
	e.start(e.run)
	return e, nil
}

// open opens the sockets of a node.
func (e *echo) open(n *Node) (err error) {
	defer try.Catch(&err)
	v4 := try.Get(udpSocket(n.Namespace, netip.AddrPortFrom(netip.IPv4Unspecified(), echoPort), option(unix.IPPROTO_IP, unix.IP_PKTINFO, 1)))
	e.fds = append(e.fds, unix.PollFd{Fd: int32(v4), Events: unix.POLLIN})
	v6 := try.Get(udpSocket(n.Namespace, netip.AddrPortFrom(netip.IPv6Unspecified(), echoPort), option(unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)))
	e.fds = append(e.fds, unix.PollFd{Fd: int32(v6), Events: unix.POLLIN})
	return nil
}

func (e *echo) run() {
	var r receiver
	for !e.stop.Load() {
		waitReadable(e.fds, 100*time.Millisecond)
		for _, p := range e.fds {
			for e.answer(&r, int(p.Fd)) {
			}
		}
	}
}

// answer sends one datagram back; false when nothing is queued.
func (e *echo) answer(r *receiver, fd int) bool {
	n, cn, _, from, err := unix.Recvmsg(fd, r.data[:], r.control[:], 0)
	if err != nil {
		return err == unix.EINTR
	}
	if p, ok := parsePayload(r.data[:n]); ok && p.node == 0 {
		p.node = e.node
		p.put(r.data[:n])
		// Fails when the address has just left the node: no answer, as it should be.
		_ = unix.Sendmsg(fd, r.data[:n], answerSource(r.control[:cn]), from, unix.MSG_DONTWAIT)
	}
	return true
}

// answerSource turns the packet information of a request into that of its
// answer: send from the address that was asked, by whatever route.
func answerSource(control []byte) []byte {
	if data, ok := controlMessage(control, unix.IPPROTO_IP, unix.IP_PKTINFO); ok && len(data) >= 12 {
		// struct in_pktinfo: ifindex, spec_dst, addr; addr is what was asked.
		return unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: [4]byte(data[8:12])})
	}
	if data, ok := controlMessage(control, unix.IPPROTO_IPV6, unix.IPV6_PKTINFO); ok && len(data) >= 16 {
		return unix.PktInfo6(&unix.Inet6Pktinfo{Addr: [16]byte(data[:16])})
	}
	return nil
}

// close ends it.
func (e *echo) close() {
	e.halt()
	e.closeSockets()
}

func (e *echo) closeSockets() {
	for _, p := range e.fds {
		unix.Close(int(p.Fd))
	}
}

// echoPort is where the echo of each node listens on all its addresses.
const echoPort = 7007

const (
	payloadMagic = 0x6b766c62 // "kvlb"
	payloadSize  = 16
)

// payload is the content of a UDP probe and of its answer.
type payload struct {
	node byte // who answered, 0 in a probe
	seq  uint64
}

func (p payload) put(b []byte) {
	binary.BigEndian.PutUint32(b, payloadMagic)
	b[4], b[5], b[6], b[7] = p.node, 0, 0, 0
	binary.BigEndian.PutUint64(b[8:], p.seq)
}

func parsePayload(b []byte) (payload, bool) {
	if len(b) != payloadSize || binary.BigEndian.Uint32(b) != payloadMagic {
		return payload{}, false
	}
	return payload{node: b[4], seq: binary.BigEndian.Uint64(b[8:])}, true
}
