package localproxy

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/places"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
)

// Listener is what programs of this host connect to. A [Proxy] is one.
type Listener interface {
	SetBackends([]intercept.Backend)
	SetFallback([]netip.AddrPort)
	SetConnections(int)
	Move(at string) error
	Reset(servers ...netip.Addr) int
	Stats() Stats
	Close(context.Context) error
}

// Cut ends a listener, and its connections with it.
func Cut(l Listener) error {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	return l.Close(over)
}

// dialTimeout is how long one server may take, before the next is tried.
const dialTimeout = time.Second

// Stats are counts since the start, but for those of open connections.
type Stats struct {
	Open      int
	ByBackend map[netip.AddrPort]int // open ones
	Total     uint64                 // that were connected to a server
	Places    int                    // how many there may be
	Lost      uint64                 // that were ended to make room for another
	Failed    uint64                 // for which no server could be connected to
}

// Proxy is a listener of this process. Its exported fields are set before Open. Its methods may be called from any
// goroutine.
type Proxy struct {
	// Connections is how many places there are at first. When all are taken the owner who has the most loses the
	// oldest. 0: as many as this host has room for.
	Connections int
	// Owner names the user at the other end of a connection; nil: all users are one.
	Owner places.Asker
	Log   *slog.Logger // nil: nothing is said
	// Fallback are tried in this order when there is no healthy server, or none that can be connected to: the virtual
	// address. See SetFallback.
	Fallback []netip.AddrPort
	// From is the own address from which a server is connected to. nil, and no address: the kernel chooses.
	From func(server netip.Addr) netip.Addr

	dialer  net.Dialer
	dialing context.Context // until the proxy is closed
	stop    context.CancelFunc
	running sync.WaitGroup

	places *places.Keeper[*pair] // those included that have no server yet

	mu        sync.Mutex // guards what follows, and Fallback
	listeners []*net.TCPListener
	turns     turns
	open      map[*pair]struct{}
	stats     Stats
	ended     bool      // what is open now has no time left
	said      time.Time // when it was last that a place was lost
}

// Open has the proxy listen at host:port, as Move does. It has no backends yet.
func (p *Proxy) Open(at string) error {
	to, err := addresses(at)
	if err != nil {
		return err
	}
	return p.begin(to)
}

func (p *Proxy) begin(to []netip.AddrPort) error {
	p.open, p.places = map[*pair]struct{}{}, places.New[*pair](placesFor(p.Connections))
	// A server that is silent for half a minute is gone, where nobody else has said so.
	p.dialer = net.Dialer{Timeout: dialTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	p.dialing, p.stop = context.WithCancel(context.Background())
	if err := p.move(to); err != nil {
		p.stop()
		return err
	}
	return nil
}

func placesFor(wanted int) int {
	if wanted <= 0 {
		return roomHere()
	}
	return wanted
}

// SetBackends says who is healthy. Connections to one that is no more in the list go on.
func (p *Proxy) SetBackends(backends []intercept.Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns.set(backends)
}

// SetFallback says where clients are connected to from now on for whom there is no server.
func (p *Proxy) SetFallback(all []netip.AddrPort) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Fallback = slices.Clone(all)
}

// SetConnections says how many places there are from now on; 0: as many as this host has room for. What is too many then is ended.
func (p *Proxy) SetConnections(n int) {
	lost := p.places.Resize(placesFor(n))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range lost {
		p.turnOut(l)
	}
}

// Reset ends the connections to these servers at once, and returns how many there were.
func (p *Proxy) Reset(servers ...netip.Addr) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reset(func(c *pair) bool { return slices.Contains(servers, c.backend.Addr()) })
}

func (p *Proxy) reset(which func(*pair) bool) (n int) {
	for c := range p.open {
		if which(c) {
			c.breaks()
			n++
		}
	}
	return n
}

// Stats are the counts.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, count := p.stats, p.places.Count()
	s.Places, s.Lost = count.Most, count.Lost
	s.Open, s.ByBackend = len(p.open), map[netip.AddrPort]int{}
	for c := range p.open {
		s.ByBackend[c.backend]++
	}
	return s
}

// Close listens no more, and waits for connections to end until the context is over. It ends the rest then.
func (p *Proxy) Close(ctx context.Context) error {
	p.stop()
	err := p.unlisten()
	ended := make(chan struct{})
	go func() {
		p.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		p.mu.Lock()
		p.ended = true
		p.reset(func(*pair) bool { return true })
		p.mu.Unlock()
		<-ended
	}
	return err
}
