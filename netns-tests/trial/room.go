package trial

import (
	"math"
	"time"
)

// What a standstill of the machine explains: as much as it may have begun, and no more.

// stallCost is what one standstill of more than an interval may cost beyond itself: the address moves, and the node that took it may be
// the next that does not run.
func (s Settings) stallCost() time.Duration { return 3 * s.downInterval() }

// StallCost is what one standstill of the machine may cost a group beyond itself.
func (c Config) StallCost() time.Duration {
	if _, raft := c.Product.(Raft); raft {
		return stallRaft
	}
	if c.Interval == 0 {
		c.Interval = 100 * time.Millisecond
	}
	return Settings{Interval: c.Interval, Priority: 100}.stallCost()
}

// twoRooms fills in what the machine itself may have added to the times in which two answered, after the fault and after the end of what
// was done.
func (r *Result) twoRooms(s Settings, end time.Duration) {
	asked, before := r.Report.Direct, s.downInterval()
	r.TwoRoom = r.Two - r.Report.TwoBeyond(asked, before, r.FaultAt, math.MaxInt64)
	r.FindersRoom = r.Finders - r.Report.DiscoveryTwoBeyond(asked, before, r.FaultAt, end)
	r.HealingRoom = 0
	if r.Healing > 0 {
		r.HealingRoom = r.Healing - r.Report.DiscoveryTwoBeyond(asked, before, end, r.Report.Ended)
	}
}

// awayRooms fills in what the machine itself may have added to outages, failing requests and lost probes.
func (r *Result) awayRooms() {
	r.OutageRoom = r.Outage - r.Report.AwayBeyond(r.Report.Streams, r.before, r.FaultAt)
	r.HTTPSRoom = r.HTTPS - r.Report.AwayBeyond(r.Report.HTTPS, r.before, r.FaultAt)
	most := 0
	for _, s := range r.Report.Streams {
		beyond := r.Report.LostBeyond(s, r.before)
		r.LostRoom += s.Lost - beyond
		most = max(most, beyond)
	}
	r.LostMostRoom = r.LostMost - most
}

// StoodFor is how long the machine stood still from shortly before the fault until so long after it.
func (r *Result) StoodFor(after time.Duration) time.Duration {
	return r.Report.Stood(r.FaultAt-r.before, r.FaultAt+after)
}

// silentRoom is what the machine itself may have added to the longest outage: where it stood still for an interval within a second, what
// the protocol does about that, too.
func (r *Result) silentRoom(s Settings, cost time.Duration, starved bool) time.Duration {
	var longest, beyond time.Duration
	for _, stream := range r.Report.Streams {
		for _, o := range stream.Outages {
			at := max(o.At, r.FaultAt)
			length := o.Length - (at - o.At)
			if o.End <= r.FaultAt || length <= 0 {
				continue
			}
			from := at - s.downInterval() - s.Interval
			room := r.Report.Standstill(from, o.End)
			if starved {
				room = r.Report.Excused(from, at, s.Interval, cost) - at
			}
			longest, beyond = max(longest, length), max(beyond, length-room)
		}
	}
	return longest - beyond
}
