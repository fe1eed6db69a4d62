package spread

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/spreadtables"
)

// tally is what a goroutine of its own has counted: the kernel goes through all that it tracks, which with many connections takes longer than a
// member may be silent.
type tally struct {
	lanes []counted
	begun time.Time
	asked int // of which Drain it knows
}

// counted is how many connections a lane has.
type counted struct {
	lane  *lane
	plane Plane
	n     map[spreadtables.Port]int
	to    map[netip.Addr]int // of masquerade
	err   error
}

// count counts connections now and then.
func (v *server) count(now time.Time) {
	every := countEvery
	if now.Before(v.draining) {
		every = countDraining
	}
	if v.counting || now.Sub(v.counted) < every {
		return
	}
	t := tally{begun: now, asked: v.asked}
	for _, l := range v.lanes {
		if l.plane != nil && l.applied != nil {
			t.lanes = append(t.lanes, counted{lane: l, plane: l.plane})
		}
	}
	v.counted, v.counting = now, true
	if len(t.lanes) == 0 {
		v.tallied(now, t)
		return
	}
	masquerades := v.cfg.Masquerade
	v.jobs.Go(func() {
		for i := range t.lanes {
			c := &t.lanes[i]
			c.n, c.err = c.plane.Connections()
			if c.err == nil && masquerades {
				c.to, c.err = c.plane.Served()
			}
		}
		select {
		case v.tallies <- t:
		case <-v.ctx.Done():
		}
	})
}

// tallied takes in what was counted.
func (v *server) tallied(now time.Time, t tally) {
	v.counting = false
	all, uncounted := 0, false
	for _, c := range t.lanes {
		if c.err != nil {
			v.log.Debug("connections are not counted", "error", c.err)
			uncounted = true
			continue
		}
		c.lane.count, c.lane.counts, c.lane.counted, c.lane.to = total(c.n), c.n, t.begun, c.to
		all += c.lane.count
	}
	if t.asked == v.asked {
		some := all > 0 || uncounted || t.begun.Before(v.settled) || t.begun.Before(v.drainsFrom)
		v.out.busy.Store(some && v.elector != nil && !v.draining.IsZero())
		return
	}
	v.counted = time.Time{}
	v.count(now) // an operator waits who asked since
}

func total(of map[spreadtables.Port]int) (n int) {
	for _, port := range of {
		n += port
	}
	return n
}

// drain counts connections more often until then. Those that are counted before the others know that this node drains are not the last.
func (v *server) drain(until time.Time) {
	now := time.Now()
	v.draining, v.counted, v.drainsFrom = until, time.Time{}, now.Add(leastSettle)
	v.asked++
	if v.elector == nil {
		v.out.busy.Store(false)
		return
	}
	v.count(now)
}
