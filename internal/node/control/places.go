package control

import (
	"net"
	"slices"
	"sync"
	"time"
)

// places bounds the connections of a listener, so that nobody who may connect can make this process do without end, or keep the
// others out: when all places are taken the owner who has the most of them loses the oldest that is not at work.
type places struct {
	net.Listener
	most   int                   // connections at a time
	breath int                   // connections that are taken or refused in a turn, at most
	turn   time.Duration         // how long a turn of so many lasts at least, with the pause that ends it
	budget int                   // of each owner in a second; 0: no bound
	owner  func(net.Conn) string // who is at the other end; "": gone already
	// outside tells connections that have places and a budget of their own; nil: none has.
	outside func(net.Conn) bool
	refuse  func(net.Conn) bool // nobody is answered there; nil: everybody is

	// of the goroutine that accepts
	seen   int       // connections so far
	paused time.Time // end of the last pause

	mu         sync.Mutex    // guards what follows
	taken      []*placedConn // the oldest first
	began      time.Time
	spent      map[string]int // by owner inside, since began
	spentOut   map[string]int // by owner outside, since began
	allOutside int            // of those outside within their own budgets, since began
}

// shortestPause ends each turn, however long that took.
const shortestPause = time.Millisecond

// maxOwners bounds what is remembered of a second, inside and outside: more than so many owners there share one budget.
const maxOwners = 1000

// placedConn is a connection that has a place until it is closed.
type placedConn struct {
	net.Conn
	of    *places
	owner string
	out   bool // from outside
	busy  bool // guarded by of.mu
}

// Accept returns the next connection that gets a place.
func (p *places) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if p.seen++; p.seen%p.breath == 0 {
			p.pause()
		}
		if p.refuse == nil || !p.refuse(c) {
			placed := &placedConn{Conn: c, of: p, owner: p.owner(c), out: p.outside != nil && p.outside(c)}
			if p.admit(placed, time.Now()) != nil {
				return placed, nil
			}
		}
		abort(c)
	}
}

// pause has whatever else is due run first: in a flood Accept would never wait by itself. It lasts at least until the turn is over: a
// real-time process wakes up from a sleep when it asked to, an ordinary one later, so the shortest pause alone bounds the two differently.
func (p *places) pause() {
	time.Sleep(max(shortestPause, p.turn-time.Since(p.paused)))
	p.paused = time.Now()
}

// admit returns nil for a connection without a place. The one that had to make room is closed.
func (p *places) admit(c *placedConn, now time.Time) *placedConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.affordable(c, now) {
		return nil
	}
	if p.full(c.out) {
		out := p.victim(c.out)
		if out == nil {
			return nil
		}
		p.remove(out)
		abort(out.Conn)
	}
	p.taken = append(p.taken, c)
	return c
}

// full tells whether all places of those inside, or outside, are taken. The caller holds the lock.
func (p *places) full(outside bool) bool {
	n, most := 0, p.most
	if outside {
		most = outsidePlaces
	}
	for _, c := range p.taken {
		if c.out == outside {
			n++
		}
	}
	return n >= most
}

// affordable counts against the owner's budget. The caller holds the lock.
func (p *places) affordable(c *placedConn, now time.Time) bool {
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

// victim is the oldest connection that can be taken away of the owner who has the most of these, inside or outside. The caller holds the
// lock.
func (p *places) victim(outside bool) *placedConn {
	count := map[string]int{}
	for _, c := range p.taken {
		if !c.busy && c.out == outside {
			count[c.owner]++
		}
	}
	var out *placedConn
	for _, c := range p.taken { // the oldest first
		if !c.busy && c.out == outside && (out == nil || count[c.owner] > count[out.owner]) {
			out = c
		}
	}
	return out
}

// remove forgets a connection. The caller holds the lock.
func (p *places) remove(c *placedConn) {
	p.taken = slices.DeleteFunc(p.taken, func(other *placedConn) bool { return other == c })
}

// Close gives the place back.
func (c *placedConn) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// setBusy keeps the place from being taken away, or no longer.
func (c *placedConn) setBusy(busy bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.busy = busy
}

// abort closes without leaving anything behind in the kernel.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
