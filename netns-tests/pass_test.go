//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// An ill holder passes the address on in one ordered exchange: what fails is the time until the illness is seen.
func TestKilledAPIServerPassesTheAddressOn(t *testing.T) {
	g := open(t, trial.Config{API: true})
	for range 3 {
		res := measure(t, g, trial.APIKilled)
		t.Logf("failing requests for %v, probes lost %d", res.HTTPS, res.Lost)
		assert.Less(t, res.HTTPS, 250*time.Millisecond+res.Stall)
		assert.Equal(t, 1, res.Takeovers)
		require.NotEqual(t, res.Victim, res.Taker)
		assert.Less(t, res.Two, twoBound+res.Stall)
	}
}

func TestStoppedHolderPassesTheAddressOn(t *testing.T) {
	g := open(t, trial.Config{})
	for range 3 {
		res := measure(t, g, trial.Terminated)
		t.Logf("probes lost %d", res.Lost)
		assert.LessOrEqual(t, res.Lost, 3)
		assert.Equal(t, 1, res.Takeovers)
		assert.Less(t, res.Two, twoBound+res.Stall)
	}
}
