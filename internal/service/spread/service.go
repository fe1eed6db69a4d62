package spread

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/instance"
)

// Service spreads the addresses of one instance. It implements instance.Service, and never keeps its instance from anything: what it cannot
// do its status says.
type Service struct {
	post   *post
	ended  chan struct{}
	voice  atomic.Pointer[voice] // of the present term; nil: there is none
	shown  atomic.Pointer[instance.SpreadStatus]
	until  atomic.Pointer[time.Time]
	ending atomic.Pointer[[]Ending]
	busy   atomic.Bool

	masquerades, serves atomic.Bool // serves: the newest decision is to hold the addresses
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
	s := &Service{post: newPost(), ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	v := &server{cfg: cfg, host: host, log: log, ctx: ctx, cancel: cancel, answers: make(chan answer), tallies: make(chan tally), news: make(chan news), out: s}
	v.configure(cfg)
	v.show()
	go s.run(v)
	return s
}

// run works until Close.
func (s *Service) run(v *server) {
	defer close(s.ended)
	defer v.jobs.Wait()
	defer s.post.close()
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for !v.closed {
		if next := v.next(); next.IsZero() {
			due.Stop()
		} else {
			due.Reset(time.Until(next))
		}
		select {
		case <-s.post.news:
			for _, call := range s.post.take() {
				call(v)
			}
			v.rest()
			continue
		case <-due.C:
		case <-v.changed:
		case a := <-v.answers:
			v.roster.answered(time.Now(), a.member, a.there)
		case t := <-v.tallies:
			v.tallied(time.Now(), t)
		case n := <-v.news:
			v.reported(time.Now(), n)
		}
		v.step(time.Now())
		v.rest()
	}
}

// Begin implements instance.Service.
func (s *Service) Begin(t instance.Term) {
	var w *voice
	if e, ok := t.Elector.(election.Spreader); ok {
		w = &voice{elector: e}
	}
	s.voice.Store(w)
	s.post.add(func(v *server) { v.begin(t, w, time.Now()) })
}

// Apply implements instance.Service. Every member serves its share in every role; a holder that masquerades ends what it has translated when
// it gives the addresses away.
func (s *Service) Apply(ctx context.Context, d election.Decision) error {
	serves := d.Role == election.Serve || d.Role == election.Quiet
	if s.serves.Swap(serves) && !serves && s.masquerades.Load() {
		s.release(ctx)
	}
	return nil
}

// HostChanged implements instance.Service.
func (s *Service) HostChanged(p instance.Place) { s.post.add(func(v *server) { v.place = p }) }

// End implements instance.Service. What is in the kernel goes on for its lifetime.
func (s *Service) End() {
	if w := s.voice.Swap(nil); w != nil {
		w.end()
	}
	s.post.add((*server).end)
}

// Reconfigure takes over another configuration of the same entry. False: the service has finished, and spreads nothing ever again.
func (s *Service) Reconfigure(cfg Config) bool {
	return s.post.add(func(v *server) { v.configure(cfg) })
}

// Status implements instance.Service.
func (s *Service) Status() instance.ServiceStatus {
	if s.Finished() {
		return instance.ServiceStatus{}
	}
	return instance.ServiceStatus{Spread: s.shown.Load()}
}

// Finished tells that nothing is spread any more, and that the last connection has ended. The service has closed itself.
func (s *Service) Finished() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// EndingWithout are the ports that are spread now, or end, and are not to be spread from now on.
func (s *Service) EndingWithout(ports []Port) []Ending {
	return slices.DeleteFunc(slices.Clone(*s.ending.Load()), func(e Ending) bool { return slices.ContainsFunc(ports, e.same) })
}

// Until is until when the kernel goes on if this process does nothing more; the zero Time: it does nothing.
func (s *Service) Until() time.Time { return *s.until.Load() }

// Drain implements instance.Drainer: connections that are served here are counted until then. What the node is fit for the elector says.
func (s *Service) Drain(until time.Time) {
	s.busy.Store(time.Now().Before(until)) // until they are counted
	s.post.add(func(v *server) { v.drain(until) })
}

// Draining implements instance.Drainer.
func (s *Service) Draining() (busy bool, reset int) { return s.busy.Load() && !s.Finished(), 0 }

// Close implements instance.Service. Where another run is to go on, connections that are served here do so until then.
func (s *Service) Close() error {
	var err error
	s.post.add(func(v *server) { err = v.close() })
	<-s.ended
	return err
}

// errNoSpreader is for an elector that does not let members know of each other's part.
var errNoSpreader = errors.New("this election does not tell the members of each other")
