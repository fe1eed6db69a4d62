package localproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Config is where a proxy listens, and what bounds it.
type Config struct {
	// Listen are addresses of loopback with a port. An IPv6 one is left out on a host without IPv6, if there is another.
	Listen []netip.AddrPort
	// Connections is how many there may be at once; what comes then is reset. 0: DefaultConnections.
	Connections int
	// DialTimeout is how long one server may take, before the next is tried. 0: DefaultDialTimeout.
	DialTimeout time.Duration
	// Fallback are tried in this order when there is no healthy server, or none that can be connected to: the virtual address.
	Fallback []netip.AddrPort
}

const (
	DefaultConnections = 1000
	DefaultDialTimeout = time.Second
)

// Backend is a server.
type Backend struct {
	Address netip.AddrPort
	Weight  uint8 // its share of new connections, beside those of the others; 0: none
}

// Stats are counts since the start, but for those of open connections.
type Stats struct {
	Open      int
	ByBackend map[netip.AddrPort]int // open ones
	Total     uint64                 // that were connected to a server
	Refused   uint64                 // that were too many
	Failed    uint64                 // for which no server could be connected to
}

// Proxy is one that runs. Its methods may be called from any goroutine.
type Proxy struct {
	cfg       Config
	listeners []*net.TCPListener
	dialer    net.Dialer
	dialing   context.Context // until the proxy is closed
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu       sync.Mutex
	turns    turns
	admitted int // connections, those included that have no server yet
	open     map[*pair]struct{}
	stats    Stats
	ended    bool // what is open now has no time left
}

// Listen opens a proxy that has no backends yet.
func Listen(c Config) (*Proxy, error) {
	c.Connections, c.DialTimeout = orDefault(c.Connections, DefaultConnections), orDefault(c.DialTimeout, DefaultDialTimeout)
	p := &Proxy{cfg: c, open: map[*pair]struct{}{}}
	// A server that is silent for half a minute is gone, where nobody else has said so.
	p.dialer = net.Dialer{Timeout: c.DialTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	for _, a := range c.Listen {
		if err := p.listen(a); err != nil {
			return nil, errors.Join(err, p.unlisten())
		}
	}
	if len(p.listeners) == 0 {
		return nil, fmt.Errorf("localproxy: nothing to listen on in %s", c.Listen)
	}
	p.dialing, p.stop = context.WithCancel(context.Background())
	for _, l := range p.listeners {
		p.running.Go(func() { p.accept(l) })
	}
	return p, nil
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

func (p *Proxy) listen(a netip.AddrPort) error {
	if !a.Addr().IsLoopback() {
		return fmt.Errorf("localproxy: listen on %s: want an address of loopback", a)
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(a))
	if a.Addr().Is6() && len(p.cfg.Listen) > 1 && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("localproxy: %w", err)
	}
	p.listeners = append(p.listeners, l)
	return nil
}

// Addresses are those on which it listens.
func (p *Proxy) Addresses() (out []netip.AddrPort) {
	for _, l := range p.listeners {
		out = append(out, l.Addr().(*net.TCPAddr).AddrPort())
	}
	return out
}

// SetBackends says who is healthy. Connections to one that is no more in the list go on.
func (p *Proxy) SetBackends(backends []Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns.set(backends)
}

// SetFallback says where clients are connected to from now on for whom there is no server.
func (p *Proxy) SetFallback(all []netip.AddrPort) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cfg.Fallback = slices.Clone(all)
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
	s := p.stats
	s.Open, s.ByBackend = len(p.open), map[netip.AddrPort]int{}
	for c := range p.open {
		s.ByBackend[c.backend]++
	}
	return s
}

// Close listens no more, and waits for connections to end until the context is over. It ends the rest then.
func (p *Proxy) Close(ctx context.Context) error {
	err := p.unlisten()
	p.stop()
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

func (p *Proxy) unlisten() error {
	var errs []error
	for _, l := range p.listeners {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
