package trial

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// discount leaves out of a long run what followed from a starved machine: an
// outage or a takeover within a down interval after an ordinary process had
// stood still for more than an interval. An outage that lasts for longer than
// that explains counts in full. The note tells what was left out.
func (g *Group) discount(res *Result) {
	starving := func(from, to time.Duration) bool { return g.starving(res.Report, from, to) }
	outages, takeovers, longest := 0, 0, time.Duration(0)
	beyond := time.Duration(0)
	res.Outage, res.Takeovers = 0, 0
	for _, stream := range res.Report.Streams {
		for _, o := range stream.Outages {
			switch {
			case o.End <= res.FaultAt:
			case starving(o.At, o.End) && g.excused(res.Report, o):
				outages++
				longest = max(longest, o.Length)
			default:
				res.Outage = max(res.Outage, o.Length)
				beyond = max(beyond, o.Length-res.Report.Stood(o.At-res.before, o.End))
			}
		}
	}
	res.OutageRoom = res.Outage - beyond
	for _, b := range res.Report.Binds {
		switch {
		case !b.Added || b.Address != g.Addresses[0] || b.At < res.FaultAt:
		case starving(b.At, b.At):
			takeovers++
		default:
			res.Takeovers++
		}
	}
	res.Stall = res.Report.StallIn(res.FaultAt, res.Report.Ended)
	if res.LeftOut = outages + takeovers; res.LeftOut > 0 {
		res.addNote("left out for a starved machine (up to %s ms): %d outages of up to %s ms, %d takeovers",
			lab.Milliseconds(max(res.Report.OrdinaryStall, res.Stall)), outages, lab.Milliseconds(longest), takeovers)
		res.Stall, res.Standstill = 0, 0 // it is in the figures already
	}
}

// starving tells that an ordinary process stood still for more than an interval, shortly before what happened from then to then.
func (g *Group) starving(r *lab.Report, from, to time.Duration) bool {
	s := g.Settings[0]
	return r.Starving(from-s.downInterval()-s.Interval, to, s.Interval)
}

// excused tells that an outage lasted for no longer than the standstills explain that may have begun it.
func (g *Group) excused(r *lab.Report, o lab.Outage) bool {
	s := g.Settings[0]
	return o.At+o.Length <= r.Excused(o.At-s.downInterval()-s.Interval, o.At, s.Interval, s.stallCost())
}

// explained counts the takeovers after the instant before which an ordinary process stood still for more than an interval in all:
// two steps that are late by half of it each are as late as one.
func (g *Group) explained(vip netip.Addr, after time.Duration, r *lab.Report) (n int) {
	s := g.Settings[0]
	for _, b := range r.Binds {
		if b.Added && b.Address == vip && b.At >= after && r.Standstill(b.At-s.downInterval()-s.Interval, b.At) > s.Interval {
			n++
		}
	}
	return n
}

// Long is a fault that lasts so long that the machine may stand still in each run: only what followed from that is left out.
func Long(fault Fault) Fault {
	return func(g *Group) (*Result, error) {
		res, err := fault(g)
		if err == nil {
			g.discount(res)
		}
		return res, err
	}
}

func (r *Result) addNote(format string, args ...any) {
	if r.Note != "" {
		r.Note += ", "
	}
	r.Note += fmt.Sprintf(format, args...)
}
