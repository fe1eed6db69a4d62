package address

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// service serves the addresses of one instance. It implements instance.Service, instance.Announcer and instance.Drainer.
type service struct {
	shown *shown
	calls chan func(*server)
	ended chan struct{}
}

var (
	_ instance.Service   = (*service)(nil)
	_ instance.Announcer = (*service)(nil)
	_ instance.Drainer   = (*service)(nil)
)

// errClosed answers what comes after Close.
var errClosed = errors.New("the service has ended")

// newService makes a service on host. blocked is told what keeps this node from having the addresses. Its addresses may answer only while those of
// first may, which the kernel silences where it is the first not to hear an advertisement of ours leave; nil: it is the first.
func newService(first *service, cfg Part, host Host, log *slog.Logger, blocked func(election.Fitness)) *service {
	c := &core{cfg: cfg, host: host, log: log, first: first, adopting: true}
	s := &service{shown: &c.shown, calls: make(chan func(*server)), ended: make(chan struct{})}
	go s.run(newServer(c, blocked))
	return s
}

// run works until Close.
func (s *service) run(v *server) {
	defer close(s.ended)
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for !v.closed {
		if next := v.next(); next.IsZero() {
			due.Stop()
		} else {
			due.Reset(time.Until(next))
		}
		select {
		case call := <-s.calls:
			call(v)
		case <-due.C:
			v.due(time.Now())
		case <-v.fence.lost():
			v.fenceLost(time.Now())
		case <-v.toldAll():
			v.told()
		case c := <-v.claims():
			v.detector.claimHeard(c)
		case o := <-v.overheard():
			v.detector.tellOf(o)
		}
	}
}

// do has the service's goroutine do something, and waits for it.
func (s *service) do(ctx context.Context, what func(*server) error) error {
	answer := make(chan error, 1)
	select {
	case s.calls <- func(v *server) { answer <- what(v) }:
		return <-answer
	case <-s.ended:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tell is do for what cannot fail.
func (s *service) tell(what func(*server)) {
	_ = s.do(context.Background(), func(v *server) error { what(v); return nil }) // a service that has ended has nothing to do
}

// Begin implements instance.Service.
func (s *service) Begin(t instance.Term) { s.tell(func(v *server) { v.begin(t) }) }

// Apply implements instance.Service.
func (s *service) Apply(ctx context.Context, d election.Decision) error {
	return s.do(ctx, func(v *server) error { return v.apply(d) })
}

// HostChanged implements instance.Service.
func (s *service) HostChanged(p instance.Place) { s.tell(func(v *server) { v.hostChanged(p) }) }

// End implements instance.Service.
func (s *service) End() { s.tell((*server).end) }

// Reconfigure takes over another configuration. What has not changed is not touched.
func (s *service) Reconfigure(cfg Part) { s.tell(func(v *server) { v.reconfigure(cfg) }) }

// Announce implements instance.Announcer.
func (s *service) Announce() error {
	err := s.do(context.Background(), func(v *server) error { return v.announcer.now() })
	if errors.Is(err, errClosed) {
		return instance.ErrNotHeld
	}
	return err
}

// Drain implements instance.Drainer.
func (s *service) Drain(until time.Time) { s.tell(func(v *server) { v.drain.want(until) }) }

// Draining implements instance.Drainer.
func (s *service) Draining() (busy bool, reset int) {
	s.shown.mu.Lock()
	defer s.shown.mu.Unlock()
	return s.shown.draining || s.shown.status.Passing, s.shown.resets
}

// Status implements instance.Service.
func (s *service) Status() instance.ServiceStatus { return s.shown.read() }

// kernelEnd is until when the kernel lets the addresses answer; zero where it does not say, as without a fence. Any goroutine may ask.
func (s *service) kernelEnd() time.Time {
	s.shown.mu.Lock()
	f := s.shown.fence
	s.shown.mu.Unlock()
	if f == nil {
		return time.Time{}
	}
	return f.kernelEnd()
}

// Close implements instance.Service.
func (s *service) Close() error {
	err := s.do(context.Background(), func(v *server) error { v.closed = true; return v.close() })
	<-s.ended
	return err
}
