package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

func TestGapOfATakeoverFromALivingNodeIsNoRecovery(t *testing.T) {
	const fault, at, end = time.Second, 2374 * time.Millisecond, 3 * time.Second
	gap := func(length time.Duration, locked ...lab.Stall) *Result {
		return &Result{FaultAt: fault, Report: &lab.Report{
			Locked:  locked,
			Streams: []lab.StreamReport{{Target: lab.VIP6, Outages: []lab.Outage{{At: at, End: at + length, Length: length}}}},
		}}
	}
	assert.Zero(t, gap(21*time.Millisecond).recovered(end, true), "each of four steps took a little less than what is reported")
	assert.Zero(t, gap(60*time.Millisecond, lab.Stall{At: at, Length: 25 * time.Millisecond}).recovered(end, true))
	assert.Equal(t, at+60*time.Millisecond-fault, gap(60*time.Millisecond).recovered(end, true), "nobody had the address")
	assert.NotZero(t, gap(21*time.Millisecond).recovered(end, false), "here no node takes the address from one that lives")
}
