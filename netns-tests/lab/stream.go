package lab

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// stream sends one UDP probe each interval from a client to an address and
// notes which node answered which probe.
type stream struct {
	lab      *Lab
	name     string
	target   netip.AddrPort
	interval time.Duration
	deadline time.Duration // a later answer counts as lost
	fd       int
	stop     atomic.Bool
	answered atomic.Int64 // probes answered so far
	done     chan struct{}
	samples  []sample // owned by run until done
	stalls   []Stall
}

// sample is one probe: when it was sent, and who answered how fast.
type sample struct {
	sent    time.Duration
	latency time.Duration // meaningless while node is 0
	node    byte
	reset   bool // the connection was reset; of TCP alone
	twice   bool // failed, and failed again; of TCP alone
	failure string
}

func (l *Lab) startStream(name string, from *Namespace, target netip.Addr, interval, deadline time.Duration) (_ *stream, err error) {
	defer try.Catch(&err)
	local := netip.IPv4Unspecified()
	if target.Is6() {
		local = netip.IPv6Unspecified()
	}
	fd := try.Get(udpSocket(from, netip.AddrPortFrom(local, 0)))
	room := 1 << 16 // a minute of probes each millisecond: a thread that measures does not make room
	if l.host.less {
		room = 1 << 10
	}
	s := &stream{
		lab: l, name: name, target: netip.AddrPortFrom(target, echoPort), interval: interval, deadline: deadline,
		fd: fd, done: make(chan struct{}), samples: make([]sample, 0, room),
	}
	go s.run()
	return s, nil
}

func (s *stream) run() {
	defer close(s.done)
	lockMeasuringThread()
	defer unix.Close(s.fd)
	var r receiver
	poll := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
	to := sockaddr(s.target)
	buf := make([]byte, payloadSize)
	next := s.lab.now()
	var end time.Duration // when the last answers must be in, once stopping and while some are missing
	for {
		waitReadable(poll, next-s.lab.now())
		s.drain(&r)
		now := s.lab.now()
		switch {
		case end > 0 && now >= end, s.stop.Load() && int(s.answered.Load()) == len(s.samples):
			return
		case now < next:
		case s.stop.Load():
			if end == 0 {
				end = now + s.deadline
			}
			next = now + time.Millisecond
		default:
			next = s.send(now, next, to, buf)
		}
	}
}

// send sends the probe that was due at due and returns when the next one is.
// Probes that were missed by a stall are not made up for: a burst would
// measure nothing.
func (s *stream) send(now, due time.Duration, to unix.Sockaddr, buf []byte) time.Duration {
	payload{seq: uint64(len(s.samples))}.put(buf)
	s.samples = append(s.samples, sample{sent: now})
	_ = unix.Sendto(s.fd, buf, unix.MSG_DONTWAIT, to) // an error is a lost probe
	if late := now - due; late > stallLimit {
		s.stalls = append(s.stalls, Stall{At: due, Length: late, CPU: -1})
		return now + s.interval
	}
	return due + s.interval
}

func (s *stream) drain(r *receiver) {
	for {
		data, stamp, _, ok := r.next(s.fd)
		if !ok {
			return
		}
		p, ok := parsePayload(data)
		if !ok || p.node == 0 || p.seq >= uint64(len(s.samples)) {
			continue
		}
		probe := &s.samples[p.seq]
		latency := s.lab.instant(stamp) - probe.sent
		if probe.node == 0 && latency <= s.deadline {
			probe.node, probe.latency = p.node, latency
			s.answered.Add(1)
		}
	}
}

func (s *stream) finish() StreamReport {
	s.stop.Store(true)
	<-s.done
	return summarize(s.name, s.target.Addr(), s.interval, s.samples)
}

// echo answers UDP probes on every address of a node from the address that was
// asked, and writes the node's number into the answer. It belongs to the
// node's kernel side: faults of the program under test do not touch it.
// Each node has a thread of its own: one that answers for others first is late, and an
// address that has left its node meanwhile is one that nobody answers for.
type echo struct {
	node byte
	fds  []unix.PollFd
	stop atomic.Bool
	done chan struct{}
}

func startEcho(n *Node) (*echo, error) {
	e := &echo{node: byte(n.ID), done: make(chan struct{})}
	if err := e.open(n); err != nil {
		e.closeSockets()
		return nil, err
	}
	go e.run()
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
	defer close(e.done)
	lockMeasuringThread()
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
	e.stop.Store(true)
	<-e.done
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

// Outage is an unbroken run of probes without an answer.
type Outage struct {
	At   time.Duration `json:"at"`   // when the first lost probe was sent
	End  time.Duration `json:"end"`  // when the next answered probe was sent
	Lost int           `json:"lost"` // probes in between
	// Length is from the first to the last lost probe plus one interval. A
	// stall of the prober at either end is not counted; one in the middle is,
	// because the address was dead on both sides of it.
	Length time.Duration `json:"length"`
}

// Change is a moment when another node began to answer the client.
type Change struct {
	At   time.Duration `json:"at"` // when the answered probe was sent
	From int           `json:"from"`
	To   int           `json:"to"`
}

// StreamReport is what one client saw of one address.
type StreamReport struct {
	Client   string         `json:"client"`
	Target   netip.Addr     `json:"target"`
	Interval time.Duration  `json:"interval"`
	Sent     int            `json:"sent"`
	Lost     int            `json:"lost"`
	Resets   int            `json:"resets,omitempty"`   // of the lost ones, requests whose connection was reset
	Twice    int            `json:"twice,omitempty"`    // of the lost ones, requests that failed once more when they were made again
	Failures map[string]int `json:"failures,omitempty"` // how requests failed
	Longest  time.Duration  `json:"longest"`
	Total    time.Duration  `json:"total"` // sum of all outages
	Outages  []Outage       `json:"outages,omitempty"`
	ByNode   map[int]int    `json:"byNode"` // answers by node
	Changes  []Change       `json:"changes,omitempty"`
	Last     int            `json:"last"` // node of the last answer, 0 if none

	samples []sample
}

// summarize computes a report from the probes, which are in order of sending.
func summarize(client string, target netip.Addr, interval time.Duration, samples []sample) StreamReport {
	r := StreamReport{Client: client, Target: target, Interval: interval, Sent: len(samples), ByNode: map[int]int{}, samples: samples}
	var open *Outage
	var lastLost time.Duration
	for _, s := range samples {
		if s.reset {
			r.Resets++
		}
		if s.twice {
			r.Twice++
		}
		if s.failure != "" {
			r.fail(s.failure)
		}
		if s.node == 0 {
			r.Lost++
			if open == nil {
				open = &Outage{At: s.sent}
			}
			open.Lost++
			lastLost = s.sent
			continue
		}
		if open != nil {
			r.addOutage(*open, lastLost, s.sent)
			open = nil
		}
		node := int(s.node)
		if r.ByNode[node]++; r.Last != node {
			if r.Last != 0 {
				r.Changes = append(r.Changes, Change{At: s.sent, From: r.Last, To: node})
			}
			r.Last = node
		}
	}
	if open != nil {
		r.addOutage(*open, lastLost, lastLost+interval)
	}
	return r
}

func (r *StreamReport) fail(how string) {
	if r.Failures == nil {
		r.Failures = map[string]int{}
	}
	r.Failures[how]++
}

func (r *StreamReport) addOutage(o Outage, lastLost, end time.Duration) {
	o.End, o.Length = end, lastLost-o.At+r.Interval
	r.Longest = max(r.Longest, o.Length)
	r.Total += o.Length
	r.Outages = append(r.Outages, o)
}

// FirstAnswer is when the client's first probe that another node than except
// answered was sent, at or after the instant; ok is false if none was.
func (r *StreamReport) FirstAnswer(after time.Duration, except int) (at time.Duration, node int, ok bool) {
	for _, s := range r.samples {
		if s.sent >= after && s.node != 0 && int(s.node) != except {
			return s.sent + s.latency, int(s.node), true
		}
	}
	return 0, 0, false
}

// LongestAfter is the longest outage that began at or after the instant.
func (r *StreamReport) LongestAfter(after time.Duration) time.Duration {
	var longest time.Duration
	for _, o := range r.Outages {
		if o.End > after {
			longest = max(longest, o.Length-max(after-o.At, 0))
		}
	}
	return longest
}

// Latency is what so many per cent of the answered probes took at most, 0 without any.
func (r *StreamReport) Latency(percent int) time.Duration {
	var all []time.Duration
	for _, s := range r.samples {
		if s.node != 0 {
			all = append(all, s.latency)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)*percent/100]
}
