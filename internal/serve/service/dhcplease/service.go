package dhcplease

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	"github.com/keepvip/keepvip/arp/dhcp"
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Wanted is a lease to keep.
type Wanted struct {
	Address  netip.Addr
	ClientID string
}

// Socket is a [dhcp.Conn].
type Socket interface {
	Send(dhcp.Outgoing) error
	Receive() (dhcp.Reply, error)
	Close() error
}

// Service keeps the leases of one entry. Its methods may be called by any goroutine, and none but Close waits.
type Service struct {
	open func(p instance.Place) (Socket, error)
	log  *slog.Logger

	mu      sync.Mutex // guards what follows
	wanted  []Wanted
	place   instance.Place
	serving bool
	stop    context.CancelFunc // of the goroutine; nil: none
	ended   chan struct{}      // closed when the newest goroutine has ended; nil: there was none
	leases  []instance.LeaseStatus
}

var _ instance.Service = (*Service)(nil)

// New makes a service that opens sockets by open, and so far does nothing.
func New(wanted []Wanted, open func(p instance.Place) (Socket, error), log *slog.Logger) *Service {
	return &Service{wanted: wanted, open: open, log: log}
}

// Begin implements instance.Service.
func (s *Service) Begin(t instance.Term) { s.change(func() { s.place = t.Place }) }

// Apply implements instance.Service.
func (s *Service) Apply(_ context.Context, d election.Decision) error {
	s.change(func() { s.serving = d.Role == election.Serve })
	return nil
}

// HostChanged implements instance.Service. After a change of the link leases are asked for anew, as RFC 2131 section 3.7 has it.
func (s *Service) HostChanged(p instance.Place) { s.change(func() { s.place = p }) }

// Reconfigure takes over other leases.
func (s *Service) Reconfigure(wanted []Wanted) { s.change(func() { s.wanted = wanted }) }

// End implements instance.Service.
func (s *Service) End() { s.change(func() { s.serving = false }) }

// Status implements instance.Service.
func (s *Service) Status() instance.ServiceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return instance.ServiceStatus{Leases: slices.Clone(s.leases)}
}

// Close implements instance.Service.
func (s *Service) Close() error {
	s.End()
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended != nil {
		<-ended
	}
	return nil
}

// change begins anew where something has changed that counts.
func (s *Service) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, old, served := s.place, s.wanted, s.serving
	do()
	if served == s.serving && before == s.place && slices.Equal(old, s.wanted) {
		return
	}
	if s.stop != nil {
		s.stop()
		s.stop, s.leases = nil, nil
	}
	if !s.serving || len(s.wanted) == 0 {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	k := &keeping{service: s, ctx: ctx, place: s.place.Holds(), wanted: s.wanted}
	earlier, ended := s.ended, make(chan struct{})
	s.stop, s.ended = stop, ended
	go func() {
		defer close(ended)
		if earlier != nil {
			<-earlier
		}
		k.run()
	}()
}
