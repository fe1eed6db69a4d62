//go:build netns

package netnstests

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// Whatever goes wrong while the address is passed on, and whenever: one node has it in the end, and never two.
func TestMishapsWhileTheAddressIsPassedOn(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}})
	short := []string{ // the bench has all of them, and members in virtual time have each message lost, and each step the last
		"the taker is killed at the GRANT", "the taker is killed at the announcement", "the holder is killed at the GRANT", "both are cut off at the GRANT",
	}
	seen := 0
	for _, m := range trial.Mishaps() {
		if slices.Contains(short, m.Name) {
			seen++
			recovers(t, g, m.Fault, m.Plain)
		}
	}
	require.Len(t, short, seen)
	recovers(t, g, trial.RandomMishap, true)
}

// recovers asserts that clients are answered in the end, and that two answer only where plain VRRP moves the address from a holder that lives,
// until that one has heard of the other.
func recovers(t *testing.T, g *trial.Group, fault trial.Fault, plain bool) {
	t.Helper()
	res := measure(t, g, fault)
	t.Logf("one holder again after %v, two answering ARP or ND for %v, after the heal for %v", res.Recovered, res.Finders, res.Healing)
	if !plain {
		assert.Zero(t, res.Finders, res.Fault)
	}
	settled(t, g)
}
