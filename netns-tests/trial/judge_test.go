package trial

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// TestFindingsStayAfterTheyWereJudged: they are printed then.
func TestFindingsStayAfterTheyWereJudged(t *testing.T) {
	found := Findings{took("back", 30*time.Millisecond, 20*time.Millisecond), told("worst", 40*time.Millisecond), none("lost", 1)}
	before := found.String()
	assert.Equal(t, []string{"lost 1 times, limit 0 times"}, found.Broken())
	assert.Equal(t, before, found.String())
}

func TestMovedSlots(t *testing.T) {
	a, b, c := netip.MustParseAddr("10.77.0.11"), netip.MustParseAddr("10.77.0.12"), netip.MustParseAddr("10.77.0.13")
	for _, tt := range []struct {
		name          string
		before, after []netip.Addr
		share         float64
		others        int
	}{
		{"none", []netip.Addr{a, b}, []netip.Addr{a, b}, 0, 0},
		{"to the new one", []netip.Addr{a, b, a, b}, []netip.Addr{a, c, a, b}, 25, 0},
		{"to one that was there", []netip.Addr{a, b, a, b}, []netip.Addr{b, c, a, b}, 50, 1},
		{"of a table with more slots", []netip.Addr{a, b}, []netip.Addr{a, a, c, b, b, c}, 100 * 2.0 / 6, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			share, others := movedSlots(tt.before, tt.after, c)
			assert.InDelta(t, tt.share, share, 0.01)
			assert.Equal(t, tt.others, others)
		})
	}
}

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
