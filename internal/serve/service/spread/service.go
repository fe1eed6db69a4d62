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
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Service spreads the addresses of one instance. It implements instance.Service, and never keeps its instance from anything: what it cannot
// do its status says.
type Service struct {
	queue    *queue
	host     Host
	ended    chan struct{}
	spreader atomic.Pointer[spreader] // of the present term; nil: there is none
	shown    atomic.Pointer[instance.SpreadStatus]
	until    atomic.Pointer[time.Time]
	ending   atomic.Pointer[[]Ending]
	busy     atomic.Bool

	masquerades, serves atomic.Bool // serves: the newest decision is to hold the addresses
}

var (
	_ instance.Service = (*Service)(nil)
	_ instance.Drainer = (*Service)(nil)
	_ instance.Judged  = (*Service)(nil)
)

// answer is what became of a question to a host.
type answer struct {
	member netip.Addr
	err    error // as that of Host.Ask
}

// New makes a service of an entry that is spread, on host. reloaded tells that the address was served until now, by its
// holder alone: connections to it are there.
func New(v config.VIP, reloaded bool, host Host, log *slog.Logger) *Service {
	s := &Service{host: host, queue: newQueue(), ended: make(chan struct{})}
	go s.run(newServer(v, reloaded, host, log, s))
	return s
}

// run works until Close.
func (s *Service) run(v *server) {
	defer close(s.ended)
	defer v.jobs.Wait()
	defer s.queue.close()
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for !v.closed {
		if next := v.next(); next.IsZero() {
			due.Stop()
		} else {
			due.Reset(time.Until(next))
		}
		select {
		case <-s.queue.ready:
			for _, call := range s.queue.take() {
				call(v)
			}
			v.closeIfDone()
			continue
		case <-due.C:
		case <-v.changed:
		case a := <-v.answers:
			v.answered(time.Now(), a)
		case c := <-v.counter.results:
			v.counter.take(c)
		case l := <-v.reach.results:
			if !v.looked(time.Now(), l) {
				continue
			}
		case takeIn := <-v.backends.reports:
			takeIn(time.Now())
		}
		v.step(time.Now())
		v.closeIfDone()
	}
}

// Begin implements instance.Service.
func (s *Service) Begin(t instance.Term) {
	var next *spreader
	if e, ok := t.Elector.(election.Spreader); ok {
		next = &spreader{elector: e}
	}
	s.spreader.Store(next)
	s.queue.add(func(v *server) { v.begin(t, next, time.Now()) })
}

// Apply implements instance.Service. Every member serves its share in every role. Who begins to hold the addresses has something to do at once, as to tell
// the clients of the holder before, if that is dead. A holder that masquerades ends what it has translated when it gives the addresses away.
func (s *Service) Apply(ctx context.Context, d election.Decision) error {
	serves := d.Role == election.Serve || d.Role == election.Quiet
	switch served := s.serves.Swap(serves); {
	case serves && !served:
		s.queue.add(func(v *server) { v.step(time.Now()) })
	case served && !serves && s.masquerades.Load():
		s.release(ctx)
	}
	return nil
}

// releaseLimit is how long a holder that gives the addresses away waits until its clients were told.
const releaseLimit = 100 * time.Millisecond

// release ends all connections that this node translates, while the addresses are still here. It does not wait for long: what is not
// told now, clients learn of by what they say next.
func (s *Service) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	done := make(chan struct{})
	s.queue.add(func(v *server) {
		defer close(done)
		v.teller.leave(time.Now(), v.kernel.endAll())
	})
	select {
	case <-done:
	case <-s.ended:
	case <-ctx.Done():
	}
}

// HostChanged implements instance.Service.
func (s *Service) HostChanged(p instance.Place) {
	s.queue.add(func(v *server) { v.move(time.Now(), p) })
}

// Judged implements instance.Judged.
func (s *Service) Judged() { s.queue.add(func(v *server) { v.step(time.Now()) }) }

// End implements instance.Service. What is in the kernel goes on for its lifetime.
func (s *Service) End() {
	if of := s.spreader.Swap(nil); of != nil {
		of.end()
	}
	s.queue.add((*server).end)
}

// Reconfigure takes over another configuration of the same entry, which may be spread no more. False: the service has
// finished, and spreads nothing ever again.
func (s *Service) Reconfigure(vip config.VIP) bool {
	return s.queue.add(func(v *server) { v.configure(vip) })
}

// Status implements instance.Service.
func (s *Service) Status() instance.ServiceStatus {
	if s.Finished() {
		return instance.ServiceStatus{}
	}
	tracked, most := s.host.Tracked()
	return instance.ServiceStatus{Spread: withRoom(s.shown.Load(), tracked, most)}
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
func (s *Service) EndingWithout(ports []config.SpreadPort) []Ending {
	return slices.DeleteFunc(slices.Clone(*s.ending.Load()), func(e Ending) bool {
		return slices.ContainsFunc(ports, func(p config.SpreadPort) bool { return same(p, e.SpreadPort) })
	})
}

// Until is until when the kernel goes on if this process does nothing more; the zero Time: it does nothing.
func (s *Service) Until() time.Time { return *s.until.Load() }

// Drain implements instance.Drainer: connections that are served here are counted until then. What the node is fit for the elector says.
func (s *Service) Drain(until time.Time) {
	s.busy.Store(time.Now().Before(until)) // until they are counted
	s.queue.add(func(v *server) { v.drain(time.Now(), until) })
}

// Draining implements instance.Drainer.
func (s *Service) Draining() (busy bool, reset int) { return s.busy.Load() && !s.Finished(), 0 }

// Close implements instance.Service. Where another run is to go on, connections that are served here do so until then.
func (s *Service) Close() error {
	var err error
	s.queue.add(func(v *server) { err = v.close() })
	<-s.ended
	return err
}

// errNoSpreader is for an elector that does not let members know of each other's part.
var errNoSpreader = errors.New("this election does not tell the members of each other")
