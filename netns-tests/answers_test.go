//go:build netns

package netnstests

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestHolderThatAnswersNoARPGivesTheAddressAway(t *testing.T) {
	t.Parallel() // seconds of waiting for questions
	g := open(t, trial.Config{})
	holder := settled(t, g)
	settleFor(2 * time.Second) // the first questions are answered
	_, err := holder.Run("ip", "link", "set", holder.NICs[0].Name, "arp", "off")
	require.NoError(t, err)
	eventually(t, 40*time.Second, "another node holds the address", func() bool {
		return activeBut(g, holder)
	})
	s, err := trial.Keepvip{}.Status(holder)
	require.NoError(t, err)
	assert.Contains(t, s.VIPs[0].Unfit, "get no answer")
}

func TestHolderWithAnotherMACIsNoStranger(t *testing.T) {
	t.Parallel() // seconds of waiting for questions
	g := open(t, trial.Config{Product: trial.Keepvip{Args: []string{"--on-conflict", "yield"}}})
	holder := settled(t, g)
	settleFor(2 * time.Second)
	require.NoError(t, holder.ChangeMAC(net.HardwareAddr{0x02, 0x98, 0, 0, 1, 0x77}))
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); settleFor(200 * time.Millisecond) { // more than one question
		for _, n := range g.Lab.Nodes {
			s, err := trial.Keepvip{}.Status(n)
			require.NoError(t, err)
			require.Empty(t, s.VIPs[0].Conflicts, "%s", n.Name)
			require.True(t, s.VIPs[0].Eligible, "%s: %s", n.Name, s.VIPs[0].Unfit)
		}
	}
	assert.True(t, g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, time.Second))
}

// activeBut tells whether another node than that holds the address.
func activeBut(g *trial.Group, not *lab.Node) bool {
	for _, n := range g.Lab.Nodes {
		s, err := trial.Keepvip{}.Status(n)
		if n != not && err == nil && s.VIPs[0].State == "active" {
			return true
		}
	}
	return false
}
