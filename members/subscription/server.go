//go:build linux

package subscription

import (
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

const (
	// openAgain is how long a port that another process has is waited for.
	openAgain = 5 * time.Second
	// breath and inBreath bound what a flood takes of the processor: so many datagrams are read in such a time.
	breath, inBreath = 10 * time.Millisecond, 100
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
	flood  flood
	said   time.Time // when it was last that somebody got no place
}

// flood counts what is looked at in a breath.
type flood struct {
	begun time.Time
	n     int
}

// over tells whether one more is more than may be.
func (f *flood) over(now time.Time) bool {
	if now.Sub(f.begun) >= breath {
		*f = flood{begun: now}
	}
	f.n++
	return f.n > inBreath
}

// serving is what the sockets need as long as they are open.
type serving struct {
	listeners []*listener
	wake      chan struct{} // capacity 1
	stop      chan struct{}
	done      sync.WaitGroup
}

// NewServer makes one that serves nothing yet.
func NewServer(port uint16, log *slog.Logger) *Server {
	return &Server{port: port, log: log, pub: NewPublisher(rand.Uint64), groups: map[netip.Addr]int{}}
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
		s.run = &serving{wake: make(chan struct{}, 1), stop: make(chan struct{})}
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

// Refused counts what was refused, by reason.
func (s *Server) Refused() map[Reason]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.pub.Refused())
}

// Tell is as in Publisher.
func (s *Server) Tell(group netip.Addr, r *Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send(s.pub.Tell(time.Now(), group, r))
}

// Hear takes a message that came in by a socket of the members. Its Data is used until Hear returns. Of more than may be in a breath the rest is
// refused: whoever reads there has other things to hear.
func (s *Server) Hear(in Packet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.flood.over(now) {
		s.pub.refused[RejectFlood]++
		return
	}
	s.hear(now, in)
}

// sayAgain is how long nothing is said of those that get no place, once it was.
const sayAgain = time.Minute

// hear answers a message. The caller holds the lock.
func (s *Server) hear(now time.Time, in Packet) {
	before := s.pub.refused[RejectFull]
	s.send(s.pub.Hear(now, in))
	if s.pub.refused[RejectFull] == before || !s.said.IsZero() && now.Sub(s.said) < sayAgain {
		return
	}
	s.said = now
	s.log.Warn("a host that asks who the members are gets no place", "code", string(code.FollowersFull), "from", in.From,
		"refused", s.pub.refused[RejectFull], "remedy", code.FollowersFull.Entry().Remedy)
}

// send sends all, with the lock held. What the kernel does not take the next message makes good.
func (s *Server) send(all []Outgoing) {
	if s.run == nil {
		return
	}
	for _, o := range all {
		for _, l := range s.run.listeners {
			if (l.v4 != nil) == o.To.Addr().Is4() {
				_ = l.send(o)
			}
		}
	}
	select {
	case s.run.wake <- struct{}{}:
	default:
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
		l, err := listen(s.port, is4)
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
	for _, l := range open {
		r.done.Go(func() { s.read(r, l) })
	}
	return nil
}

// read reads one socket until it is closed.
func (s *Server) read(r *serving, l *listener) {
	b := make([]byte, MaxMessage+1)
	begin, n := time.Now(), 0
	for {
		in, err := l.receive(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if n++; err != nil || n >= inBreath {
			if left := breath - time.Since(begin); left > 0 {
				select {
				case <-r.stop:
					return
				case <-time.After(left):
				}
			}
			begin, n = time.Now(), 0
		}
		if err == nil {
			s.mu.Lock()
			s.hear(time.Now(), in)
			s.mu.Unlock()
		}
	}
}

// tick does what is due.
func (s *Server) tick(r *serving) {
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for {
		s.mu.Lock()
		next := s.pub.Deadline()
		s.mu.Unlock()
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
			s.mu.Lock()
			s.send(s.pub.Expire(time.Now()))
			s.mu.Unlock()
		}
	}
}
