//go:build linux

package subscription

import (
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/members/envelope"
)

const (
	// openAgain is how long a port that another process has is waited for.
	openAgain = 5 * time.Second
	// mostWaiting is how many datagrams that came in by the members' sockets may wait for that.
	mostWaiting = 4096
	// sendAgain is how long is waited when the kernel takes no more, and sendTries how often: what is for hosts that do not answer waits there.
	sendAgain, sendTries = time.Millisecond, 10
)

// Server is a [Publisher] on the network: it hears followers on the port, and answers them. It has no socket and no goroutine while no group is
// served. Safe for concurrent use.
type Server struct {
	port uint16
	log  *slog.Logger

	mu     sync.Mutex // guards what follows
	pub    *Publisher
	groups map[netip.Addr]int // how often each is served: an entry that is made anew may begin before the old one ends
	run    *serving           // nil: no group is served
	unsent []Outgoing         // of the newest Tell
	armed  time.Time          // when tick looks next by itself; zero: it does not, or does so anyway
	said   time.Time          // when it was last that somebody got no place
	flood  uint64             // datagrams of the members' sockets that there was no room for
}

// serving is what the sockets need as long as they are open.
type serving struct {
	listeners []*listener
	inbox     chan Packet // of the members' sockets
	wake      nudge.Signal
	stop      chan struct{}
	done      sync.WaitGroup
}

// NewServer makes one that serves nothing yet.
func NewServer(port uint16, log *slog.Logger) *Server {
	s := &Server{port: port, log: log, pub: NewPublisher(rand.Uint64), groups: map[netip.Addr]int{}}
	s.pub.most = room()
	return s
}

// SetKeys is as in Publisher.
func (s *Server) SetKeys(k Keys) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pub.SetKeys(k)
}

// Serve begins to publish a group.
func (s *Server) Serve(group netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[group]++
	s.pub.Serve(group)
	if s.run == nil {
		s.run = &serving{inbox: make(chan Packet, mostWaiting), wake: nudge.New(), stop: make(chan struct{})}
		s.run.done.Add(1)
		go s.open(s.run)
	}
}

// Drop ends one Serve. With the last one of all groups the sockets are closed.
func (s *Server) Drop(group netip.Addr) {
	if ended := s.drop(group); ended != nil {
		ended.done.Wait()
	}
}

func (s *Server) drop(group netip.Addr) *serving {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups[group]--; s.groups[group] > 0 {
		return nil
	}
	delete(s.groups, group)
	s.pub.Drop(group)
	if len(s.groups) > 0 {
		return nil
	}
	ended := s.run
	s.run = nil
	close(ended.stop)
	for _, l := range ended.listeners {
		_ = l.close()
	}
	return ended
}

// Wanted is as in Publisher.
func (s *Server) Wanted(group netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pub.Wanted(group)
}

// Subscribers is as in Publisher.
func (s *Server) Subscribers(group netip.Addr) []Subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pub.Subscribers(time.Now(), group)
}

// Room is as in Publisher.
func (s *Server) Room(group netip.Addr) (taken, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pub.Room(group)
}

// Refused counts what was refused, by reason.
func (s *Server) Refused() map[envelope.Reason]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := maps.Clone(s.pub.Refused())
	if s.flood > 0 {
		out[envelope.RejectFlood] += s.flood
	}
	return out
}

// Tell is as in Publisher. It sends nothing itself: whoever tells has other things to do.
func (s *Server) Tell(group netip.Addr, r *Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if out := s.pub.Tell(time.Now(), group, r); s.run != nil {
		s.unsent = append(s.unsent, out...)
		s.run.rouse()
	}
}

// Hear takes a message that came in by a socket of the members, and answers it later: whoever reads there has other things to hear. Of more than may
// wait the rest is refused. Its Data is the caller's again when Hear returns.
func (s *Server) Hear(in Packet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return
	}
	in.Data = slices.Clone(in.Data)
	select {
	case s.run.inbox <- in:
	default:
		s.flood++
	}
}

// sayAgain is how long nothing is said of those that get no place, once it was.
const sayAgain = time.Minute

// hear answers a message.
func (s *Server) hear(r *serving, in Packet) {
	s.mu.Lock()
	now := time.Now()
	before := s.pub.refused[envelope.RejectFull]
	out := s.pub.Hear(now, in)
	refused := s.pub.refused[envelope.RejectFull]
	say := refused > before && (s.said.IsZero() || now.Sub(s.said) >= sayAgain)
	if say {
		s.said = now
	}
	most := s.pub.most
	due := s.pub.Deadline()
	rouse := !due.IsZero() && (s.armed.IsZero() || due.Before(s.armed)) // thousands ask, and most of them change nothing of that
	s.mu.Unlock()
	r.send(out)
	if rouse {
		r.rouse()
	}
	if say {
		s.log.Warn("a host that asks who the members are gets no place", "code", string(code.FollowersFull), "from", in.From, "places", most,
			"refused", refused, "remedy", code.FollowersFull.Entry().Remedy)
	}
}

// rouse has tick look what is due.
func (r *serving) rouse() { r.wake.Send() }

// send sends what the kernel takes at once, and returns the others.
func (r *serving) send(all []Outgoing) (left []Outgoing) {
	if len(all) == 0 {
		return nil
	}
	for _, l := range r.listeners {
		is4 := l.v4 != nil
		mine := all
		if slices.ContainsFunc(all, func(o Outgoing) bool { return o.To.Addr().Is4() != is4 }) {
			mine = slices.DeleteFunc(slices.Clone(all), func(o Outgoing) bool { return o.To.Addr().Is4() != is4 })
		}
		rest, _ := l.send(mine) // whom no message reaches, the next one may
		left = append(left, rest...)
	}
	return left
}

// sendAll sends many, and waits a moment where the kernel has no room for them. What it does not take then the next message makes good.
func (r *serving) sendAll(all []Outgoing) {
	for range sendTries {
		if all = r.send(all); len(all) == 0 {
			return
		}
		select {
		case <-r.stop:
			return
		case <-time.After(sendAgain):
		}
	}
}

// open opens the sockets, and has them read.
func (s *Server) open(r *serving) {
	defer r.done.Done()
	for said := false; ; said = true {
		err := s.openAll(r)
		if err == nil {
			break
		}
		if !said {
			s.log.Warn("followers cannot ask who the members are, until this works", "error", err)
		}
		select {
		case <-r.stop:
			return
		case <-time.After(openAgain):
		}
	}
	s.tick(r)
}

// openAll opens the socket of each family that the host has.
func (s *Server) openAll(r *serving) error {
	var open []*listener
	var errs []error
	for _, is4 := range []bool{true, false} {
		l, err := listen(s.port, is4, bufferSize)
		if errors.Is(err, syscall.EAFNOSUPPORT) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		open = append(open, l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-r.stop:
		errs = append(errs, net.ErrClosed)
	default:
	}
	if len(errs) > 0 {
		for _, l := range open {
			_ = l.close()
		}
		return errors.Join(errs...)
	}
	r.listeners = open
	hear := func(in Packet) { s.hear(r, in) }
	for _, l := range open {
		r.done.Go(func() { read(r.stop, l.receive, hear) })
	}
	r.done.Go(func() { read(r.stop, r.received, hear) })
	return nil
}

// received waits for a datagram of the members' sockets.
func (r *serving) received([]byte) (Packet, error) {
	select {
	case <-r.stop:
		return Packet{}, net.ErrClosed
	case in := <-r.inbox:
		return in, nil
	}
}

// tick does what is due, one burst after the other, and keeps nobody from the lock while it sends.
func (s *Server) tick(r *serving) {
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for {
		out, next := s.owed()
		if len(out) > 0 {
			r.sendAll(out)
			if !r.stopped() {
				continue
			}
		}
		if next.IsZero() {
			due.Stop()
		} else {
			due.Reset(time.Until(next))
		}
		select {
		case <-r.stop:
			return
		case <-r.wake:
		case <-due.C:
		}
	}
}

func (r *serving) stopped() bool {
	select {
	case <-r.stop:
		return true
	default:
		return false
	}
}

// owed is what is to be sent now, and when there is more.
func (s *Server) owed() (out []Outgoing, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = time.Time{}
	if out, s.unsent = s.unsent, nil; len(out) > 0 {
		return out, time.Time{}
	}
	if next = s.pub.Deadline(); next.IsZero() || time.Now().Before(next) {
		s.armed = next
		return nil, next
	}
	return s.pub.Expire(time.Now()), s.pub.Deadline()
}
