package spread

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/instance"
)

// Service spreads the addresses of one instance. It implements instance.Service, and never keeps its instance from anything: what it cannot
// do its status says.
type Service struct {
	calls chan func(*server)
	place chan instance.Place // capacity 1: the newest, which is not waited for
	ended chan struct{}
	shown atomic.Pointer[instance.SpreadStatus]
	until atomic.Pointer[time.Time]
	busy  atomic.Bool
}

var (
	_ instance.Service = (*Service)(nil)
	_ instance.Drainer = (*Service)(nil)
)

// answer is what became of a question to a host.
type answer struct {
	member netip.Addr
	there  bool
}

// New makes a service on host.
func New(cfg Config, host Host, log *slog.Logger) *Service {
	s := &Service{calls: make(chan func(*server)), place: make(chan instance.Place, 1), ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	v := &server{cfg: cfg, host: host, log: log, ctx: ctx, cancel: cancel, answers: make(chan answer), out: s}
	v.configure(cfg)
	v.show()
	go s.run(v)
	return s
}

// run works until Close.
func (s *Service) run(v *server) {
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
			continue
		case v.place = <-s.place:
			continue
		case <-due.C:
		case <-v.changed:
		case a := <-v.answers:
			v.roster.answered(time.Now(), a.member, a.there)
		}
		v.step(time.Now())
	}
}

// tell has the service's goroutine do something, and waits for it.
func (s *Service) tell(what func(*server)) {
	done := make(chan struct{})
	select {
	case s.calls <- func(v *server) { what(v); close(done) }:
		<-done
	case <-s.ended:
	}
}

// Begin implements instance.Service.
func (s *Service) Begin(t instance.Term) {
	s.tell(func(v *server) {
		s.forgetPlace()
		v.begin(t, time.Now())
	})
}

// Apply implements instance.Service. Every member serves its share in every role.
func (s *Service) Apply(context.Context, election.Decision) error { return nil }

// HostChanged implements instance.Service. It does not wait: the kernel may take seconds for what goes on here, and the election waits for whoever
// calls this to hear of a check that fails.
func (s *Service) HostChanged(p instance.Place) {
	s.forgetPlace()
	s.place <- p
}

// forgetPlace takes back a place that nobody has looked at.
func (s *Service) forgetPlace() {
	select {
	case <-s.place:
	default:
	}
}

// End implements instance.Service. What is in the kernel goes on for its lifetime.
func (s *Service) End() { s.tell((*server).end) }

// Reconfigure takes over another configuration of the same entry.
func (s *Service) Reconfigure(cfg Config) { s.tell(func(v *server) { v.configure(cfg) }) }

// Status implements instance.Service.
func (s *Service) Status() instance.ServiceStatus {
	return instance.ServiceStatus{Spread: s.shown.Load()}
}

// Until is until when the kernel goes on if this process does nothing more; the zero Time: it does nothing.
func (s *Service) Until() time.Time { return *s.until.Load() }

// Drain implements instance.Drainer: connections that are served here are counted until then. What the node is fit for the elector says.
func (s *Service) Drain(until time.Time) {
	s.tell(func(v *server) {
		v.draining, v.counted = until, time.Time{}
		if v.elector != nil {
			v.count(time.Now())
		}
	})
}

// Draining implements instance.Drainer.
func (s *Service) Draining() (busy bool, reset int) { return s.busy.Load(), 0 }

// Close implements instance.Service. Where another run is to go on, connections that are served here do so until then.
func (s *Service) Close() error {
	var err error
	s.tell(func(v *server) { err = v.close() })
	<-s.ended
	return err
}

// errNoSpreader is for an elector that does not let members know of each other's part.
var errNoSpreader = errors.New("this election does not tell the members of each other")
