package localproxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/places"
)

// pause is how long a listener waits that cannot accept, as when the process has no more file descriptors.
const pause = 50 * time.Millisecond

// callersInTurn and turn, 1,600 callers in a second, keep a flood to about half of a processor: each takes some 300 microseconds, with the connection
// to its server. A client that comes after a thousand others waits for less than a second.
const (
	callersInTurn = 8
	turn          = 5 * time.Millisecond
)

func (p *Proxy) accept(l *net.TCPListener) {
	callers := places.Turns{Of: callersInTurn, Least: turn}
	for {
		callers.Next()
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
		default:
			if c := p.admit(client); c != nil {
				p.running.Go(func() { p.serve(c) })
			} else {
				abort(client)
			}
		}
	}
}

// admit gives a client a place, which another one may lose by that. It is nil for one that has gone.
func (p *Proxy) admit(client *net.TCPConn) *pair {
	owner := places.OwnerOf(client, p.Owner)
	if owner == "" {
		return nil
	}
	c := &pair{client: client}
	got, lost := p.places.Take(owner, c)
	if got == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.place = got
	if lost != nil {
		p.turnOut(lost)
	}
	return c
}

// sayAgain is how long nothing is said of places that are lost, once it was.
const sayAgain = time.Minute

// turnOut ends a connection that has lost its place. The caller holds the lock.
func (p *Proxy) turnOut(lost *places.Place[*pair]) {
	lost.Value.lost = true
	lost.Value.breaks()
	now := time.Now()
	if p.Log == nil || !p.said.IsZero() && now.Sub(p.said) < sayAgain {
		return
	}
	p.said = now
	count := p.places.Count()
	p.Log.Warn("all places of follow.listen are taken, and who has the most loses the oldest", "code", string(code.ListenerFull),
		"owner", lost.Owner, "places", count.Most, "lost", count.Lost, "remedy", code.ListenerFull.Entry().Remedy)
}

// serve finds a server for a client. The two goroutines that go on from there are new ones, for this one's stack has grown.
func (p *Proxy) serve(c *pair) {
	server, backend, err := p.connect(p.dialing)
	p.mu.Lock()
	defer p.mu.Unlock()
	c.server, c.backend = server, backend
	if err != nil || p.ended || c.lost {
		if err != nil {
			p.stats.Failed++
		}
		c.place.Leave()
		c.breaks()
		return
	}
	p.stats.Total++
	p.open[c] = struct{}{}
	c.left.Store(2)
	p.running.Go(func() { p.pump(c, c.client, server) })
	p.running.Go(func() { p.pump(c, server, c.client) })
}

// connect tries the server whose turn it is, the others behind it, and what there is to fall back to.
func (p *Proxy) connect(ctx context.Context) (server *net.TCPConn, to netip.AddrPort, err error) {
	p.mu.Lock()
	candidates := append(p.turns.next(), p.Fallback...)
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
	if p.From == nil {
		return netip.Addr{}
	}
	return p.From(server)
}

// pump runs until one direction has ended, and lets go of the pair when both have.
func (p *Proxy) pump(c *pair, from, to *net.TCPConn) {
	c.pump(from, to)
	if c.left.Add(-1) > 0 {
		return
	}
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	c.place.Leave()
	_ = c.client.Close()
	_ = c.server.Close()
}
