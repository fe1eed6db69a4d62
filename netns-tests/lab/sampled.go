package lab

import (
	"math"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Sampled is who answered many short connections.
type Sampled struct {
	ByNode    map[string]int
	Disguised int            // the server saw another address than the client's own
	Failures  map[string]int // how connections failed
	// FailedAt are the instants at which the connections that failed began, in the order in which they failed.
	FailedAt []time.Duration
	Slowest  time.Duration // from the beginning of a connection to its first line
}

// Served is how many connections some node answered.
func (s Sampled) Served() int {
	n := 0
	for _, of := range s.ByNode {
		n += of
	}
	return n
}

// Worst is how far the member with most or fewest connections is off its even share of the members, in per cent of that share.
func (s Sampled) Worst(members int) float64 {
	if s.Served() == 0 {
		return 100
	}
	even := float64(s.Served()) / float64(members)
	worst := 0.0
	if len(s.ByNode) < members {
		worst = 100
	}
	for _, n := range s.ByNode {
		worst = max(worst, 100*math.Abs(float64(n)-even)/even)
	}
	return worst
}

// LastFailed is when the last connection began that failed, 0 without any.
func (s Sampled) LastFailed() time.Duration {
	return longest(s.FailedAt, func(at time.Duration) time.Duration { return at })
}

// String lists the nodes, and what failed.
func (s Sampled) String() string {
	text := counts(s.ByNode)
	if len(s.Failures) > 0 {
		text += "; failed: " + counts(s.Failures)
	}
	return strings.TrimSpace(text)
}

const (
	// sampling is how many short connections are under way at a time.
	sampling = 32
	// samplingGap is the time from one to the next, on average: more of them would keep the daemons from running that are watched.
	samplingGap = 400 * time.Microsecond
)

// Sample connects so many times from a host to greeters, each time from a new port, and closes each connection when the server has
// introduced itself. A connection fails after ten seconds: on a machine with much to do a server may take one.
func (l *Lab) Sample(from *Namespace, target netip.AddrPort, count int) (_ Sampled, err error) {
	defer try.Catch(&err)
	s := try.Get(l.sample(from, target, pace{count, sampling, samplingGap, 10 * time.Second}))
	<-s.done
	return s.out, nil
}

// StartSampling begins such connections until they are stopped, one at each interval, however many are not answered yet. One fails after a
// second: a segment that was lost once would have arrived.
func (l *Lab) StartSampling(from *Namespace, target netip.AddrPort, every time.Duration) (_ *Sampling, err error) {
	defer try.Catch(&err)
	s := try.Get(l.sample(from, target, pace{math.MaxInt, math.MaxInt, every, time.Second}))
	l.atEnd(func() { s.stop.Store(true) })
	return s, nil
}

// Stop begins no more of them, waits for the last ones and returns who answered.
func (s *Sampling) Stop() Sampled {
	s.halt()
	return s.out
}

// pace is how many connections are made, and when.
type pace struct {
	count int // in all
	side  int // under way at a time
	gap   time.Duration
	limit time.Duration // until a connection has failed
}

// Sampling are short connections that are being made.
type Sampling struct {
	measuring
	pace
	lab    *Lab
	target netip.AddrPort
	poll   *poller // what follows is owned by run until it has ended
	open   map[int]*heldConn
	out    Sampled
}

// sample has a thread in the client's namespace make the connections.
func (l *Lab) sample(from *Namespace, target netip.AddrPort, p pace) (_ *Sampling, err error) {
	defer try.Say(&err, "lab: connections from %s to %s", from.Name, target)
	s := &Sampling{
		pace: p, lab: l, target: target, poll: try.Get(newPoller()), open: map[int]*heldConn{},
		out: Sampled{ByNode: map[string]int{}, Failures: map[string]int{}},
	}
	return s, s.startIn(from, s.run)
}

func (s *Sampling) run() {
	defer s.poll.close()
	began, begun := s.lab.Now(), 0
	for begun < s.count && !s.stop.Load() || len(s.open) > 0 {
		due := int((s.lab.Now()-began)/s.gap) + 1
		for ; begun < min(s.count, due) && !s.stop.Load() && len(s.open) < s.side; begun++ {
			s.begin()
		}
		for _, e := range s.poll.wait(time.Millisecond) {
			if c := s.open[int(e.Fd)]; c != nil {
				s.greeted(c)
			}
		}
		for _, c := range s.open {
			if s.lab.Now()-c.Began > s.limit {
				s.end(c, "no greeting within "+s.limit.String())
			}
		}
	}
}

func (s *Sampling) begin() {
	now := s.lab.Now()
	fd, err := s.poll.dial(s.target)
	if err != nil {
		s.failed(now, err.Error())
		return
	}
	s.open[fd] = &heldConn{HeldConn: HeldConn{Began: now}, fd: fd}
}

func (s *Sampling) greeted(c *heldConn) {
	var buf [128]byte
	n, err := unix.Read(c.fd, buf[:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return
	case err != nil:
		s.end(c, err.Error())
		return
	}
	line, _, ok := strings.Cut(string(buf[:n]), "\n")
	if !ok {
		s.end(c, "a first line that was cut")
		return
	}
	node, seen := greeting(line)
	if own, err := unix.Getsockname(c.fd); err != nil || endpointOf(own) != seen {
		s.out.Disguised++
	}
	s.out.ByNode[node]++
	s.out.Slowest = max(s.out.Slowest, s.lab.Now()-c.Began)
	s.end(c, "")
}

func (s *Sampling) end(c *heldConn, failure string) {
	if failure != "" {
		s.failed(c.Began, failure)
	}
	delete(s.open, c.fd)
	s.poll.shut(c.fd)
}

func (s *Sampling) failed(at time.Duration, how string) {
	s.out.Failures[how]++
	s.out.FailedAt = append(s.out.FailedAt, at)
}
