package address

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// core is what the parts of a service share. It belongs to the service's goroutine, but for shown.
type core struct {
	cfg   Part
	host  Host
	log   *slog.Logger
	first *service       // that of the first interface, for addresses on another one; nil: this is it
	lines election.Lines // of what others can bring about
	shown shown

	place    instance.Place
	elector  instance.Elector // nil between terms
	serving  bool             // the addresses were bound by the newest decision, and have not been released since
	passing  bool             // they are being passed on: they are here, but nobody is told so
	telling  *telling         // the addresses were let go of, and stay for the resets of their connections; nil: they do not
	adopting bool             // addresses of an earlier run may stay: nobody is known to have them
	missing  []netip.Prefix   // addresses that this host refuses to bind, while it serves those of the other family
	shared   bool             // the addresses were bound here, or another holder was heard, since the start
}

// shown is what other goroutines may look at.
type shown struct {
	mu       sync.Mutex // guards what follows
	status   instance.ServiceStatus
	fence    *fencer
	unfenced string // why there is no fence
	draining bool
	resets   int // connections that were reset when draining ended
}

func (s *shown) set(change func(*shown)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// read is the status at this moment. To look at the fence takes its time.
func (s *shown) read() instance.ServiceStatus {
	s.mu.Lock()
	out, f := s.status, s.fence
	out.Fence = instance.FenceStatus{Reason: s.unfenced}
	s.mu.Unlock()
	if f != nil {
		out.Fence = f.status()
		out.Lapsed = f.lapsedSince()
	}
	return out
}

// holdsLease tells whether this node may answer at this moment. A process that was frozen wakes with an
// address that the kernel has taken away: it must not put it back, nor announce it, before the elector
// has looked at what arrived meanwhile.
func (c *core) holdsLease() bool {
	return c.serving && c.elector != nil && time.Now().Before(c.elector.LeaseEnd())
}

func (c *core) setPassing(passing bool) {
	c.passing = passing
	c.shown.set(func(s *shown) { s.status.Passing = passing })
}

// mostLines is how many lines of one kind that others can bring about are written in a minute.
const mostLines = 10

// line writes a line that a flood could bring about again and again.
func (c *core) line(level slog.Level, text string, args ...any) {
	if left, ok := c.lines.May(time.Now(), text, mostLines); ok {
		c.log.Log(context.Background(), level, text, election.LeftOut(args, left)...)
	}
}
