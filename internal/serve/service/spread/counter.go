package spread

import (
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

// counter has the connections of each table counted now and then, and tells an operator who drains this node whether there are any. It belongs to the
// service's goroutine. The counting has a goroutine of its own, one at a time: the kernel goes through all that it tracks, which with many
// connections takes longer than a member may be silent.
type counter struct {
	log     *slog.Logger
	jobs    *jobs
	results chan counts
	busy    *atomic.Bool // the operator has to wait; Drain sets it from another goroutine
	// elsewhere tells whether somebody else, a follower or another member, has connections to this node that no table here has, or has not counted
	// them since. direct are the connections that others make to this node's own addresses, by who makes them; nil: they are not known.
	elsewhere func(since time.Time, direct map[netip.Addr]int) bool

	last    time.Time     // when it was last begun
	took    time.Duration // for how long the kernel went through all that it tracks then
	running bool
	clients []election.Client // of all tables
	begun   bool              // there is a term
	settled time.Time         // when the members are known, of this term

	drains   int       // how often an operator has asked
	asked    time.Time // when that was last
	draining time.Time // until when the operator waits
	// drainsFrom is from when on the others send nothing new here because of that.
	drainsFrom time.Time
}

// counts are the connections of all tables at one moment.
type counts struct {
	tables []tableCount
	begun  time.Time
	took   time.Duration
	drains int // those that it knows of
}

// tableCount is how many connections a table has.
type tableCount struct {
	table *table
	plane Plane
	spreadtables.Census
	err error
}

// begin opens a term. What is counted before settled is not the last.
func (c *counter) begin(settled time.Time) { c.begun, c.settled = true, settled }

// end closes a term: nobody waits any more.
func (c *counter) end() {
	c.begun = false
	c.busy.Store(false)
}

// count begins to count if it is time. A member may want to know soon with often.
func (c *counter) count(now time.Time, tables []*table, often bool) {
	if c.running || now.Sub(c.last) < c.every(now, often) {
		return
	}
	next := counts{begun: now, drains: c.drains}
	for _, t := range tables {
		if t.plane != nil && t.applied != nil {
			next.tables = append(next.tables, tableCount{table: t, plane: t.plane})
		}
	}
	c.last, c.running = now, true
	if len(next.tables) == 0 {
		c.take(next)
		return
	}
	c.jobs.Go(func() {
		began := time.Now()
		for i := range next.tables {
			next.tables[i].count()
		}
		next.took = time.Since(began)
		send(c.jobs.ctx, c.results, next)
	})
}

// every is from one count to the next: it has a small share of a processor, however many connections the kernel tracks.
func (c *counter) every(now time.Time, often bool) time.Duration {
	share, every, most := countShare, countEvery, 2*countEvery
	if often {
		share, every, most = countOftenShare, countRemaining, countEvery
	}
	if now.Before(c.draining) {
		share, every, most = countOftenShare, countDraining, countEvery
	}
	return max(every, min(c.took*time.Duration(share), most))
}

func (c *tableCount) count() { c.Census, c.err = c.plane.Count(election.MostClients) }

// take takes in what was counted.
func (c *counter) take(result counts) {
	c.running, c.took = false, result.took
	all, uncounted := 0, false
	direct := directOf(result.tables)
	var clients []election.Client
	for _, n := range result.tables {
		if n.err != nil {
			c.log.Debug("connections are not counted", "error", n.err)
			uncounted = true
			clients = append(clients, n.table.clients...)
			continue
		}
		n.table.count, n.table.counts, n.table.counted, n.table.to = total(n.Ports), n.Ports, result.begun, n.To
		n.table.clients = reachable(n.Clients)
		clients = append(clients, n.table.clients...)
		all += n.table.count - n.Own // which go on here: nobody waits for them
	}
	clients = clients[:min(len(clients), election.MostClients)]
	if !slices.Equal(clients, c.clients) { // the same list is compared at once wherever it is said
		c.clients = clients
	}
	if result.drains != c.drains { // it is too old for an operator who has asked since
		c.last = time.Time{}
		return
	}
	waits := c.begun && !c.draining.IsZero()
	c.busy.Store(waits && (all > 0 || uncounted || result.begun.Before(c.settled) || result.begun.Before(c.drainsFrom) || c.elsewhere(c.asked, direct)))
}

// drain counts more often until then, and at once. Those that are counted before the others know that this node drains are not the last.
func (c *counter) drain(now, until time.Time) {
	c.asked, c.draining, c.last, c.drainsFrom = now, until, time.Time{}, now.Add(leastSettle)
	c.drains++
	if !c.begun {
		c.busy.Store(false)
	}
}

// directOf are the connections to this node's own addresses at the ports of all tables, by who makes them; nil where some are not known.
func directOf(all []tableCount) map[netip.Addr]int {
	var out map[netip.Addr]int
	for _, n := range all {
		if n.err != nil || n.Direct == nil {
			return nil
		}
		if out == nil {
			out = map[netip.Addr]int{}
		}
		for a, more := range n.Direct {
			out[a] += more
		}
	}
	return out
}

func total(of map[spreadtables.Port]int) (n int) {
	for _, port := range of {
		n += port
	}
	return n
}
