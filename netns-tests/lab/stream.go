package lab

import (
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// stream sends one UDP probe each interval from a client to an address and
// notes which node answered which probe.
type stream struct {
	measuring
	lab      *Lab
	name     string
	target   netip.AddrPort
	interval time.Duration
	deadline time.Duration // a later answer counts as lost
	fd       int
	answered atomic.Int64 // probes answered so far
	samples  []sample     // owned by run until it has ended
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
		fd: fd, samples: make([]sample, 0, room),
	}
	s.start(s.run)
	return s, nil
}

func (s *stream) run() {
	defer unix.Close(s.fd)
	var r receiver
	poll := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
	to := sockaddr(s.target)
	buf := make([]byte, payloadSize)
	next := s.lab.Now()
	var end time.Duration // when the last answers must be in, once stopping and while some are missing
	for {
		waitReadable(poll, next-s.lab.Now())
		s.drain(&r)
		now := s.lab.Now()
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
	if now-due > stallLimit {
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
	s.halt()
	return summarize(s.name, s.target.Addr(), s.interval, s.samples)
}
