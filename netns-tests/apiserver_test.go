//go:build netns

package netnstests

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// A service that is gone and one that says nothing: which answers count as one is what the tests of internal/check/health say, what follows from it those of elections in
// virtual time, and the bench has all of them.
func TestUnhealthyAPIServerMovesTheAddress(t *testing.T) {
	each(t, map[string]trial.Fault{
		"killed":       trial.APIKilled,
		"stands still": trial.APIFrozen(5 * time.Second),
	}, func(t *testing.T, fault trial.Fault) {
		// A new group each time: a check that flaps is slow to believe in health again.
		res := counted(t, trial.Config{API: true}, fault)
		moved(t, 1, res)
		assert.Less(t, res.RSS, int64(32<<20), "memory at its most")
	})
}

func TestLostRouterMovesTheAddress(t *testing.T) {
	eachFamily(t, func(t *testing.T, vip netip.Addr) {
		res := counted(t, trial.Config{Product: trial.Gatewayed{}, Addresses: []netip.Addr{vip}}, trial.RouterLost(4*time.Second))
		moved(t, 1, res)
		assert.GreaterOrEqual(t, res.Seen, time.Duration(0), "keepvip has seen it")
	})
}
