package route

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

const (
	// lookEvery is how often the route is read back and put once more, and the translation renewed.
	lookEvery = time.Second
	// lifetime is for how long a process that was killed goes on with its translation: nobody looks any more whether the programs are well.
	lifetime = 5 * time.Second
	// settle is for how long no new connection may have come after the route is gone until none is served any more: a routing daemon
	// tells its routers some ten milliseconds later, and nothing but what they still send here says whether they have heard it.
	settle = 500 * time.Millisecond
	// mostSettle bounds that, for a router that never hears of it.
	mostSettle = 5 * time.Second
	// countEvery is how often a node that has taken its route away looks at its connections, and countShare how much longer than a count takes the
	// next one is waited for at least.
	countEvery = 200 * time.Millisecond
	countShare = 10
	// mostBackoff bounds the pause before a route that was refused is tried again, which grows: a try may put another route
	// of the entry for a moment, and routers damp routes that come and go.
	mostBackoff = time.Minute
)

// Service serves the addresses of one entry by routes.
type Service struct {
	name      string
	addresses []netip.Addr
	ports     []config.SpreadPort // that are translated; none: somebody else serves the addresses on this node
	spread    bool                // by tables that are there before the route and stay until Close has returned, also for what routers still send then
	table     hostroute.Table

	host Host
	log  *slog.Logger

	wake  nudge.Signal // there may be something to do earlier
	quit  chan struct{}
	ended chan struct{}

	mu          sync.Mutex // guards what follows
	term        instance.Term
	translation Translation // nil until it is needed first
	serving     bool
	wanted      bool          // it is to serve, and was refused that
	again       time.Time     // when that is tried again
	backoff     time.Duration // the newest pause before such a try; zero: nothing was refused
	announced   bool          // some of the routes may be in the kernel
	held        bool          // the device, by Use
	index       int           // of the device
	outlives    error         // why the routes hang on the loopback device; nil: they do not
	mark        bool          // of the routes, as they were put last
	routes      connection
	leaving     leaving
	drain       time.Time        // until when an operator waits for connections; zero: nobody does
	clients     []netip.AddrPort // of connections that others have or have had by this node, as counted last
	left        int              // how many of these go on
	recount     time.Time        // not before they are counted again
	present     int              // routes, as the table was read last
	asserted    uint64
	restored    uint64
	said        string // the newest error of the loop that is in the log
}

var (
	_ instance.Service   = (*Service)(nil)
	_ instance.Drainer   = (*Service)(nil)
	_ instance.Announcer = (*Service)(nil)
)

// New makes a service of the addresses of v, and begins its goroutine. Close ends it.
func New(v config.VIP, host Host, log *slog.Logger) *Service {
	s := &Service{
		name: v.Name, table: TableOf(v), addresses: v.Bare(), spread: v.Local() && len(v.SpreadPorts()) > 0,
		host: host, log: log, routes: connection{open: host.OpenRoutes}, wake: nudge.New(), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	if v.Local() && !s.spread {
		s.ports = v.RoutedPorts()
	}
	go s.run()
	return s
}

// TableOf is the table that the routes of v are in.
func TableOf(v config.VIP) hostroute.Table {
	return hostroute.Table{Number: v.Announce.Table, Protocol: int(v.Announce.Protocol)}
}

// Begin implements instance.Service.
func (s *Service) Begin(t instance.Term) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term = t
}

// Apply implements instance.Service. An error of Serve is a [code.NoTranslation], or the kernel's about the route.
func (s *Service) Apply(_ context.Context, d election.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.wake.Send()
	if d.Role == election.Serve {
		return s.serve()
	}
	s.wanted, s.backoff = false, 0
	return s.withdraw(d.Role)
}

// HostChanged implements instance.Service: the own address may be another one.
func (s *Service) HostChanged(p instance.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term.Place = p
	if s.serving {
		s.say(s.translate(true))
	}
}

// End implements instance.Service.
func (s *Service) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term, s.wanted = instance.Term{}, false
}

// Announce implements instance.Announcer: those who watch the table are told of the routes once more.
func (s *Service) Announce() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.serving {
		return instance.ErrNotHeld
	}
	return s.put()
}

// Drain implements instance.Drainer.
func (s *Service) Drain(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drain = until
	if !s.serving && !until.IsZero() {
		s.say(s.count())
	}
	s.wake.Send()
}

// Draining implements instance.Drainer. No connection is reset: what is left goes on for as long as its program does.
func (s *Service) Draining() (busy bool, reset int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.serving && !s.drain.IsZero() && (s.announced || s.left > 0 || s.leaving.under()), 0
}

// Status implements instance.Service. What the fence is to a bound address is to a route that it ends with its process.
func (s *Service) Status() instance.ServiceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := instance.ServiceStatus{
		Restored: s.restored, Routes: &instance.RouteStatus{Table: s.table.Number, Protocol: s.table.Protocol, Present: s.present, Puts: s.asserted, Lost: s.restored},
		Fence: instance.FenceStatus{Route: true, Standing: s.outlives == nil},
	}
	if s.outlives != nil {
		out.Fence.Reason, out.Fence.Code = fmt.Sprintf("the route outlives a keepvip that is killed: %v", s.outlives), code.RouteOutlives
	}
	return out
}

// Close implements instance.Service. It returns when routers have had time to send elsewhere.
func (s *Service) Close() error {
	close(s.quit)
	<-s.ended
	s.mu.Lock()
	s.drain = time.Time{} // nobody waits any more
	s.leaving.hurry(time.Now())
	err := s.withdraw(election.Off)
	for s.leaving.under() {
		over, counted := s.follow(time.Now())
		if s.say(counted); over {
			break
		}
		if s.translation != nil {
			err = errors.Join(err, s.translation.Renew(lifetime))
		}
		wait := s.pause(time.Now())
		s.mu.Unlock()
		time.Sleep(wait)
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.held {
		s.host.Release()
		s.held = false
	}
	if s.translation != nil {
		err = errors.Join(err, s.translation.Close())
		s.translation = nil
	}
	s.routes.close()
	return err
}

// say logs an error of what goes on in the background, once for each text. The caller holds the lock.
func (s *Service) say(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != s.said {
		s.log.Warn("the address is not served as it should be", "error", text)
	}
	s.said = text
}
