package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// A drill that says that nobody took the address is refuted by a node that has advertised for half of that time, and by nothing less.
func TestDrillThatSaysNotTakenIsRefutedByTheCapture(t *testing.T) {
	const interval = 100 * time.Millisecond
	for name, tt := range map[string]struct {
		node, adverts int
		gap           int // after so many, none for a second; 0: none
		refuted       bool
	}{
		"nobody":                {2, 0, 0, false},
		"another, for a moment": {2, 15, 0, false},
		"another, to the end":   {2, 35, 0, true},
		"another, with a break": {2, 28, 14, false},
		"the drilled one":       {1, 35, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &DrillRun{Result: &Result{FaultAt: time.Second, Victim: 1, Report: &lab.Report{}}, NotTaken: true, Ended: 5 * time.Second}
			at := r.FaultAt + 350*time.Millisecond
			for i := range tt.adverts {
				if tt.gap > 0 && i == tt.gap {
					at += time.Second
				}
				r.Report.Adverts = append(r.Report.Adverts, lab.Advert{Node: tt.node, At: at, Interval: interval, Priority: 100})
				at += interval
			}
			assert.Equal(t, tt.refuted, r.Judge() != nil)
		})
	}
}
