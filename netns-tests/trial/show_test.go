package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

func TestFindingsWithoutAVerdictAreToldAsSuch(t *testing.T) {
	good, bad := none("good", 0), none("bad", 2)
	found := Findings{good, bad.unjudged("the machine stood still"), good.unjudged("the machine stood still"), bad}
	assert.Equal(t, []string{"bad 2 times, limit 0 times"}, found.Over(1))
	assert.Equal(t, []string{"bad 2 times, limit 0 times: the machine stood still"}, found.NotJudged())
	assert.Equal(t, "good 0 times (limit 0 times), bad 2 times (limit 0 times), good 0 times (limit 0 times), bad 2 times (limit 0 times)", found.String())
}

// A group whose address moved was not idle. What that says of the product depends on whether the machine stood still for long enough.
func TestIdleGroupThatMovesIsNotIdle(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name      string
		moves     int
		still     time.Duration
		over, not int
	}{
		{"idle", 0, 0, 0, 0},
		{"the machine stood still, and nothing moved", 0, 300 * ms, 0, 0},
		{"it moved", 1, 99 * ms, 1, 0},
		{"it moved while the machine stood still", 1, 100 * ms, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &lab.Report{Ended: 20 * time.Second}
			if tt.still > 0 {
				r.Stalls = []lab.Stall{{At: 10 * time.Second, Length: tt.still}}
			}
			found := idleFindings(&Result{Report: r, FaultAt: 5 * time.Second, CPU: 0.5, Takeovers: tt.moves}, 100*ms)
			assert.Len(t, found.Over(1), tt.over)
			assert.Len(t, found.NotJudged(), tt.not)
		})
	}
	found := idleFindings(&Result{Report: &lab.Report{Ended: 20 * time.Second}, CPU: 2.5}, 100*ms)
	assert.Equal(t, []string{"CPU 2.5 %, limit 0.6 %"}, found.Over(4))
}
