package address

import "time"

const (
	// lapseLook is how often the kernel is asked for the lease at most.
	lapseLook = 3 * checkEvery
	// lapseTurn is how long instances that share a fence leave between two of their questions. The kernel finds the timer of a group by
	// going through those of all groups, which takes it some 30 microseconds with 255 of them.
	lapseTurn = 50 * time.Millisecond
	// lapseNear is for how long a lease that one instance has missed is news for those that share its fence: most likely what keeps its
	// advertisements back keeps theirs back, too.
	lapseNear = 10 * time.Second
	// lapsedGrace is how long the kernel has to have had no lease before that counts: a change of the fence may cost one for a moment.
	lapsedGrace = time.Second
	// leaseMargin is by how much the kernel may end a lease sooner than it was told: it counts in ticks.
	leaseMargin = 10 * time.Millisecond
)

// lapse is since when the kernel has had no lease although the elector has one, as far as was seen. An advertisement that another table
// drops behind the socket counts as sent, and renews nothing. The zero lapse is none. It is pure.
type lapse struct {
	since, newest time.Time // of the looks that found none
}

// see takes in that the kernel was found with or without a lease at now, when the elector's lasted until leaseEnd. At the very end of that
// one an answer says nothing.
func (l *lapse) see(now, leaseEnd time.Time, leased bool) {
	switch {
	case leased, !now.Before(leaseEnd): // a lease that is over everywhere is the elector's to tell of
		*l = lapse{}
	case !now.Add(leaseMargin).Before(leaseEnd):
	case l.since.IsZero():
		l.since, l.newest = now, now
	default:
		l.newest = now
	}
}

// lasts tells whether it is none of a moment.
func (l lapse) lasts() bool { return l.newest.Sub(l.since) >= lapsedGrace }

// lapseEvery is the time between two questions for a lease of which nothing is known to be wrong, where so many share the fence, and one of them
// has missed its own so long ago.
func lapseEvery(sharing int, missed time.Duration) time.Duration {
	if missed < lapseNear {
		return lapseLook
	}
	return max(lapseLook, time.Duration(sharing)*lapseTurn)
}

// watch looks whether the kernel has the lease that its holder has, where only advertisements that leave renew it. A fence that is not in
// place silences nobody.
func (w *fenceWorker) watch(inPlace bool) {
	next, end := w.lapse, w.leaseEnd()
	switch {
	case !inPlace, !w.held.Load(), w.mode() != byKernel:
		next = lapse{}
	case next.since.IsZero() && time.Since(w.asked) < lapseEvery(w.fence.Sharing(), time.Since(w.fence.Missed()))-checkEvery/2:
		return
	default:
		left, err := w.fence.LeaseLeft()
		w.debug(err)
		w.asked = time.Now()
		next.see(w.asked, end, left > 0 || err != nil)
	}
	was := w.lapse.lasts()
	w.lapse = next
	switch lasts := next.lasts(); {
	case lasts && !was:
		w.log.Warn("the lease is over in the kernel although it has taken the advertisements: this node does not answer; let protocol 112 (VRRP) " +
			"through the egress hooks of other nftables tables")
		w.setLapsed(next.since)
	case was && !lasts:
		w.setLapsed(time.Time{})
		if inPlace && w.held.Load() {
			w.log.Info("the kernel has the lease again")
		}
	}
}
