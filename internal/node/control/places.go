package control

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/places"
	"github.com/keepvip/keepvip/internal/base/reset"
)

// bounded bounds the connections of a listener, so that nobody who may connect can make this process do without end, or keep the
// others out: when all places are taken the owner who has the most of them loses the oldest that is not at work.
type bounded struct {
	net.Listener
	turns  places.Turns
	budget int                   // of each owner in a second; 0: no bound
	owner  func(net.Conn) string // who is at the other end; "": gone already
	// outside tells connections that have places and a budget of their own; nil: none has.
	outside func(net.Conn) bool
	refuse  func(net.Conn) bool // nobody is answered there; nil: everybody is

	inside, outer *places.Keeper[net.Conn]

	spare reserve

	mu         sync.Mutex // guards what follows
	began      time.Time
	spent      map[string]int // by owner inside, since began
	spentOut   map[string]int // by owner outside, since began
	allOutside int            // of those outside within their own budgets, since began
}

// newBounded makes those of a listener: so many for connections at a time, and some more for those from outside.
func newBounded(most int, p *bounded) *bounded {
	p.inside, p.outer = places.New[net.Conn](most), places.New[net.Conn](outsidePlaces)
	p.spare.fill()
	return p
}

// count is how it stands with the places of both kinds.
func (p *bounded) count() places.Count {
	in, out := p.inside.Count(), p.outer.Count()
	return places.Count{Most: in.Most, Taken: in.Taken + out.Taken, Lost: in.Lost + out.Lost}
}

// acceptPause keeps a socket that fails from taking the processor, and mostFailures in a row are no matter of a moment.
const (
	acceptPause  = 50 * time.Millisecond
	mostFailures = 100
)

// maxOwners bounds what is remembered of a second, inside and outside: more than so many owners there share one budget.
const maxOwners = 1000

// placedConn is a connection that has a place until it is closed.
type placedConn struct {
	net.Conn
	of    *bounded
	owner string
	out   bool // from outside
	place *places.Place[net.Conn]
}

// Accept returns the next connection that gets a place. An error says that the listener is closed, or has accepted nothing for five seconds.
func (p *bounded) Accept() (net.Conn, error) {
	failures := 0
	for {
		c, err := p.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil && p.spare.give(err):
			continue
		case err != nil: // the host lacks something, or forbids it: that may pass, and a server that is told of it ends
			if failures++; failures == mostFailures {
				return nil, err
			}
			time.Sleep(acceptPause)
			continue
		}
		failures = 0
		p.turns.Next()
		if p.refuse == nil || !p.refuse(c) {
			placed := &placedConn{Conn: c, of: p, owner: p.owner(c), out: p.outside != nil && p.outside(c)}
			if p.admit(placed, time.Now()) != nil {
				return placed, nil
			}
		}
		_ = reset.Close(c)
	}
}

// admit returns nil for a connection without a place. The one that had to make room is closed.
func (p *bounded) admit(c *placedConn, now time.Time) *placedConn {
	if !p.affordable(c, now) {
		return nil
	}
	of := p.inside
	if c.out {
		of = p.outer
	}
	place, lost := of.Take(c.owner, c.Conn)
	if lost != nil {
		_ = reset.Close(lost.Value)
	}
	if place == nil {
		return nil
	}
	c.place = place
	return c
}

// affordable counts against the owner's budget.
func (p *bounded) affordable(c *placedConn, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.owner == "" {
		return false
	}
	if p.budget == 0 {
		return true
	}
	if p.spent == nil || now.Sub(p.began) >= time.Second {
		p.spent, p.spentOut, p.allOutside, p.began = map[string]int{}, map[string]int{}, 0, now
	}
	if !c.out {
		return spend(p.spent, c.owner) <= p.budget
	}
	// What one host has too much of is not taken from the others.
	if spend(p.spentOut, c.owner) > outsideBudget {
		return false
	}
	p.allOutside++
	return p.allOutside <= allOutsideBudget
}

// spend counts a connection and tells how many there were.
func spend(by map[string]int, who string) int {
	if _, known := by[who]; !known && len(by) >= maxOwners {
		who = "others"
	}
	by[who]++
	return by[who]
}

// Close gives the place back.
func (c *placedConn) Close() error {
	c.place.Leave()
	err := c.Conn.Close()
	c.of.spare.fill()
	return err
}

// setBusy keeps the place from being taken away, or no longer.
func (c *placedConn) setBusy(busy bool) { c.place.Keep(busy) }

// Close ends the listener.
func (p *bounded) Close() error {
	p.spare.drop()
	return p.Listener.Close()
}
