package trial

import (
	"fmt"
	"time"
)

// starvedChaos is for how long the machine may stand still within a second of an episode whose times count. To the others a
// daemon that does not run for an advertisement interval may be a dead one, and no bound is right then.
const starvedChaos = 100 * time.Millisecond

// What one standstill of more than that may cost beyond itself: the address moves, and the one that took it may be the next that does
// not run. It is three times what a takeover lasts, or two elections.
const (
	stallVRRP = 3 * takeover
	stallRaft = 2 * elected
)

// stall is what a standstill may cost an entry.
func (e chaosEntry) stall() time.Duration {
	if e.raft {
		return stallRaft
	}
	return stallVRRP
}

// excused tells that what lasted from then to then, and was due by an instant, says nothing about the product: the machine stood still,
// and for no longer than that explains it lasted.
func (r *EpisodeResult) excused(lasted span, due, cost time.Duration) bool {
	from := lasted.from - tail
	return r.Report.Standstill(from, lasted.to) > starvedChaos && lasted.to <= r.Report.Excused(from, due, starvedChaos, cost)
}

// note takes down what was wrong, or what cannot be decided.
func (r *EpisodeResult) note(undecided bool, format string, args ...any) {
	to := &r.Wrong
	if undecided {
		to = &r.Undecided
	}
	*to = append(*to, fmt.Sprintf(format, args...))
}

// unsettled notes that not all was whole again in the time that the nodes had for it. That is wrong, unless the machine stood still
// for most of that time.
func (r *EpisodeResult) unsettled(err error, waited span) {
	if err != nil {
		r.note(r.Report.Stood(waited.from, waited.to) > (waited.to-waited.from)/2, "%v", err)
	}
}
