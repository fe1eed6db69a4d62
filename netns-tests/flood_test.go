//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestFloods: each for a second, with bounds that a busy machine keeps. cmd/bench prints the table.
func TestFloods(t *testing.T) {
	t.Parallel()
	for _, f := range trial.Floods() {
		if f.Config.Interval > 0 {
			continue // TestMetricsListenerWithstandsALocalUser does the same, and other tests run beside this one
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			found, err := f.Run(host, time.Second)
			require.NoError(t, err)
			t.Log(found.Findings())
			assert.Empty(t, found.Findings().Over(2))
			if !found.Judged {
				notJudged(t, "transitions: the machine stood still for %v in a second", found.Room)
			}
		})
	}
}
