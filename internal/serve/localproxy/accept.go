package localproxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// pause is how long a listener waits that cannot accept, as when the process has no more file descriptors.
const pause = 50 * time.Millisecond

func (p *Proxy) accept(l *net.TCPListener) {
	for {
		client, err := l.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			select {
			case <-p.dialing.Done():
				return
			case <-time.After(pause):
			}
		case !p.admit():
			abort(client)
		default:
			p.running.Go(func() { p.serve(client) })
		}
	}
}

func (p *Proxy) admit() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.admitted >= p.cfg.Connections {
		p.stats.Refused++
		return false
	}
	p.admitted++
	return true
}

// serve finds a server for a client. The two goroutines that go on from there are new ones, for this one's stack has grown.
func (p *Proxy) serve(client *net.TCPConn) {
	server, backend, err := p.connect(p.dialing)
	c := &pair{client: client, server: server, backend: backend}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.ended {
		if err != nil {
			p.stats.Failed++
		}
		p.admitted--
		abort(client)
		abort(server)
		return
	}
	p.stats.Total++
	p.open[c] = struct{}{}
	c.left.Store(2)
	p.running.Go(func() { p.pump(c, client, server) })
	p.running.Go(func() { p.pump(c, server, client) })
}

// connect tries the server whose turn it is, the others behind it, and what there is to fall back to.
func (p *Proxy) connect(ctx context.Context) (server *net.TCPConn, to netip.AddrPort, err error) {
	p.mu.Lock()
	candidates := append(p.turns.next(), p.cfg.Fallback...)
	p.mu.Unlock()
	err = errors.New("no server")
	for _, to = range candidates {
		var c net.Conn
		d := p.dialer
		if from := p.from(to.Addr()); from.IsValid() {
			d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
		}
		if c, err = d.DialContext(ctx, "tcp", to.String()); err == nil {
			return c.(*net.TCPConn), to, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, netip.AddrPort{}, err
}

func (p *Proxy) from(server netip.Addr) netip.Addr {
	if p.cfg.From == nil {
		return netip.Addr{}
	}
	return p.cfg.From(server)
}

// pump runs until one direction has ended, and lets go of the pair when both have.
func (p *Proxy) pump(c *pair, from, to *net.TCPConn) {
	c.pump(from, to)
	if c.left.Add(-1) > 0 {
		return
	}
	p.mu.Lock()
	delete(p.open, c)
	p.admitted--
	p.mu.Unlock()
	_ = c.client.Close()
	_ = c.server.Close()
}
