//go:build netns

package netnstests

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// One node runs the unchanged keepalived.conf under keepvip, beside two keepalived, in each role. Their checks fail and come back so that
// each node holds the address once.
func TestKeepalivedConfUnderKeepvipBesideKeepalived(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"the best", "the second", "the last"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := []trial.Runner{trial.RunCrossingKeepalived, trial.RunCrossingKeepalived, trial.RunCrossingKeepalived}
			runs[i] = trial.RunCrossingKeepvip
			g := openMixed(t, trial.CrossingWeights(runs...))
			for _, step := range []struct {
				name            string
				node            int
				healthy         bool
				holder          int
				moves, priority int
			}{
				{"150 falls to 80", 1, false, 2, 1, 80},
				{"120 falls to 50", 2, false, 3, 1, 50},
				{"80 is 150 again", 1, true, 1, 1, 150},
				{"50 is 120 again", 2, true, 1, 0, 120},
			} {
				res := measure(t, g, trial.Watched(step.name, func(func(string)) error {
					if err := trial.SetHealth(g.Lab.Nodes[step.node-1], step.healthy); err != nil {
						return err
					}
					if step.moves == 0 {
						settleFor(6 * time.Second) // three good checks, and a Master_Down_Interval
					}
					eventually(t, 20*time.Second, step.name, func() bool { return slices.Equal(g.Holders(), []*lab.Node{g.Lab.Nodes[step.holder-1]}) })
					settleFor(time.Second)
					return nil
				}))
				// If the better Backup is late by more than the Skew_Times differ, the other takes the address for a moment.
				assert.GreaterOrEqual(t, res.Takeovers, step.moves, step.name)
				assert.LessOrEqual(t, res.Takeovers, 2*step.moves+2*res.BySilence+res.Report.Rivalry(res.FaultAt, res.Report.Ended), step.name)
			}
		})
	}
}
