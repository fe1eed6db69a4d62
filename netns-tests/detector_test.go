//go:build netns

package netnstests

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// detectorOf is how a node would find out that the holder is gone; nil: by its advertisements.
func detectorOf(n *lab.Node) *election.Detector {
	s, err := wholeStatus(n)
	if err != nil || len(s.VIPs) == 0 {
		return nil
	}
	return s.VIPs[0].Detector
}

// watched waits until each Backup would find out that the holder is gone.
func watched(t *testing.T, g *trial.Group) {
	t.Helper()
	for _, n := range g.Lab.Nodes {
		eventually(t, 30*time.Second, n.Label+" watches the holder", func() bool {
			d := detectorOf(n)
			return d != nil && d.Plain == ""
		})
	}
}

// TestDeadNodeIsFoundByItsSilenceEverywhere: its beats stop, its kernel answers no echo, and the others agree. One takes over, once.
func TestDeadNodeIsFoundByItsSilenceEverywhere(t *testing.T) {
	each(t, map[string]trial.Config{
		"IPv6":         {Product: trial.Fast(), Addresses: []netip.Addr{lab.VIP6}},
		"both, 5":      {Product: trial.Fast(), Addresses: dualStack(), Lab: lab.Config{Nodes: 5}},
		"with a key":   {Product: trial.Keyed{Args: trial.Fast().Args}},
		"two, witness": {Product: trial.Fast("--detector-witness", "10.77.0.201"), Lab: lab.Config{Nodes: 2}},
	}, func(t *testing.T, cfg trial.Config) {
		g := open(t, cfg)
		watched(t, g)
		res := measure(t, g, trial.NodeDeath)
		assert.Zero(t, res.Report.Beside(res.Victim, res.FaultAt, res.Report.Ended), "the dead node answers beside another")
		moved(t, 1, res)
		if res.BySilence > 0 {
			return // a machine that is so late goes by the advertisements
		}
		_, last := historyOf(t, nodeOf(g, res.Taker))
		assert.Equal(t, code.NodeGone, last.Code)
		assert.Regexp(t, `no beat for \d+ ms, 10 echoes unanswered, `, last.Cause)
	})
}

// TestHolderWhoseHostAnswersIsNotGone: while somebody hears it, whatever else is lost, and while it stands still, when its lease decides. Members in virtual
// time go through all that may be lost between nodes.
func TestHolderWhoseHostAnswersIsNotGone(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Product: trial.Fast()})
	watched(t, g)
	measure(t, g, trial.Lost("one other does not hear the holder").For(2*time.Second))
	watched(t, g)
	moved(t, 1, measure(t, g, trial.Frozen(3*time.Second)))
	for _, n := range g.Lab.Nodes {
		assert.NotContains(t, g.Daemon(n).Log(), string(code.NodeGone), n.Label)
	}
}

// TestDetectorSaysWhyItIsPlain: what is missing for it, and where.
func TestDetectorSaysWhyItIsPlain(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Product: trial.Fast(), Lab: lab.Config{Nodes: 2}})
	says := func(why string) {
		t.Helper()
		eventually(t, 10*time.Second, why, func() bool {
			for _, n := range g.Lab.Nodes { // that of the two which is no holder says it
				if d := detectorOf(n); d != nil && d.Plain == why && d.Code == code.DetectorPlain {
					return true
				}
			}
			return false
		})
	}
	says("no third member is heard, and no vrrp.detectorWitness is set")
	for _, n := range g.Lab.Nodes {
		must(n.RunInput("table inet mute { chain in { type filter hook input priority 0; icmp type echo-request drop; }; }", "nft", "-f", "-"))(t)
	}
	says("the host of the holder answers no echo request: let ICMP in there")
}
