//go:build netns

package netnstests

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// recoverBound is an Active_Down_Interval at 100 ms with the tie-break delay of equal nodes, and room for a busy machine.
const recoverBound = 373*time.Millisecond + 100*time.Millisecond

// Whatever goes wrong while the address is passed on, and whenever: one node has it again within an Active_Down_Interval,
// and never two.
func TestMishapsWhileTheAddressIsPassedOn(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Interval: promptly, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}})
	short := []string{
		"the taker is killed at the unfit HELLO", "the taker is killed at the REQUEST", "the taker is killed at the GRANT",
		"the taker is killed at the first advertisement", "the taker is killed at the announcement", "the taker is killed at the active HELLO",
		"the holder is killed at the GRANT", "both are cut off at the GRANT", "the first GRANT is lost", "every GRANT is lost",
		"the first announcement is lost", "every HELLO of the taker is lost",
	}
	seen := 0
	for _, m := range trial.Mishaps() {
		if slices.Contains(short, m.Name) {
			seen++
			recovers(t, g, m.Fault)
		}
	}
	require.Len(t, short, seen)
	for range 2 {
		recovers(t, g, trial.RandomMishap)
	}
}

func recovers(t *testing.T, g *trial.Group, fault trial.Fault) {
	t.Helper()
	res := measure(t, g, fault)
	if res.NotJudged != "" {
		notJudged(t, "%s: %s", res.Fault, res.NotJudged)
		return
	}
	t.Logf("one holder again after %v, two answering ARP or ND for %v, after the heal for %v", res.Recovered, res.Finders, res.Healing)
	// A machine that stood still for an interval may have ended a lease, and had an election begin anew.
	if stood := res.Report.Standstill(res.FaultAt-time.Second, res.FaultAt+res.Recovered); res.Recovered >= recoverBound+res.RecoveredRoom && stood > promptly {
		notJudged(t, "%s: one holder again after %v: the machine stood still for %s ms within a second", res.Fault, res.Recovered, lab.Milliseconds(stood))
	} else {
		assert.Less(t, res.Recovered, recoverBound+res.RecoveredRoom, res.Fault)
	}
	assert.LessOrEqual(t, res.Finders, twoBound+res.FindersRoom, res.Fault)
	assert.LessOrEqual(t, res.Healing, 150*time.Millisecond+res.HealingRoom, res.Fault)
}
