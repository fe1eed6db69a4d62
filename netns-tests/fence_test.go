//go:build netns

package netnstests

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestHolderThatIsKilledOrStandsStillFallsSilent(t *testing.T) {
	t.Parallel()
	g := started(t, trial.Config{Addresses: dualStack()})
	for name, fault := range map[string]trial.Fault{
		"kill -9":  trial.KilledForGood,
		"SIGSTOP":  trial.Silenced("SIGSTOP", trial.BySignal, 6*time.Second),
		"debugger": trial.Silenced("ptrace", trial.ByDebugger, 2*time.Second),
		"freezer":  trial.Silenced("cgroup freezer", trial.ByFreezer, 2*time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "freezer" && !lab.HasFreezer() {
				t.Log("no cgroup freezer on this machine: nothing to see")
				return
			}
			fallsSilent(t, g, fault, name == "kill -9" || name == "SIGSTOP")
		})
	}
}

// TestShows: what holds on any machine. How long something takes is measured by cmd/bench.
func TestShows(t *testing.T) {
	t.Parallel()
	for _, s := range trial.Shows() {
		if s.Measured {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			show(t, s)
		})
	}
}

func show(t *testing.T, s trial.Show) {
	t.Helper()
	found := must(s.Run(host, false))(t)
	t.Log(found)
	assert.Empty(t, found.Broken())
}

// TestHolderWhoseRulesAreFlushedFallsSilent, whatever becomes of its daemon: where tables are owned at any moment, and
// else once they are there again.
func TestHolderWhoseRulesAreFlushedFallsSilent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		path   string
		faults map[string]trial.Fault
	}{
		{"owned", "", map[string]trial.Fault{
			"kill -9":             trial.FlushedAnd(false),
			"kill -9 immediately": trial.FlushedAnd(true),
			"SIGSTOP":             trial.FlushedAndStopped(6 * time.Second),
		}},
		{"unowned", must(trial.Unowned())(t), map[string]trial.Fault{
			"kill -9": trial.FlushedAnd(false),
			"SIGSTOP": trial.FlushedAndStopped(6 * time.Second),
		}},
	} {
		g := started(t, trial.Config{Addresses: dualStack(), Product: trial.Keepvip{Path: c.path}})
		for name, fault := range c.faults {
			t.Run(c.name+", "+name, func(t *testing.T) {
				fallsSilent(t, g, fault, false)
			})
		}
		g.Close()
	}
}

// TestRulesAreFlushedAllTheTime: the holder stays the holder, and its fence is in place at the end.
func TestRulesAreFlushedAllTheTime(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"owned": "", "unowned": must(trial.Unowned())(t)} {
		t.Run(name, func(t *testing.T) {
			g := open(t, trial.Config{Addresses: dualStack(), Product: trial.Keepvip{Path: path}})
			var holder *lab.Node
			stays(t, g, func() *lab.Node {
				holder = must(g.Settle())(t)
				for range 30 {
					require.NoError(t, trial.Flush(holder))
					time.Sleep(100 * time.Millisecond)
				}
				return holder
			})
			eventually(t, 5*time.Second, "the fence is in place", func() bool {
				s := statusOf(t, holder)
				fence := s.VIPs[0].Fence
				return fence.Standing && (fence.Repairs > 0) == (path != "")
			})
		})
	}
}

// TestFlushesKeepSpreadConnections, at the holder and at members.
func TestFlushesKeepSpreadConnections(t *testing.T) {
	t.Parallel()
	for name, masquerade := range map[string]bool{"direct": false, "masquerade": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSpread(t, trial.SpreadConfig{Product: trial.WithSpread{Masquerade: masquerade}})
			for _, e := range trial.Flushes() {
				keeps(t, s, e, 60)
			}
		})
	}
}

// TestFlushesKeepConnectionsOfAFollower, which its own kernel translates.
func TestFlushesKeepConnectionsOfAFollower(t *testing.T) {
	t.Parallel()
	f := openFollower(t, trial.FollowerConfig{})
	held := must(f.HoldFrom(60))(t)
	for range 30 {
		require.NoError(t, trial.Flush(f.Worker))
		settleFor(100 * time.Millisecond)
	}
	noneLost(t, held.Stop())
	served(t, f, 60)
}

// lined waits until each node hears of the end of each other one.
func lined(t *testing.T, g *trial.Group) {
	t.Helper()
	for _, n := range g.Lab.Nodes {
		eventually(t, 30*time.Second, n.Label+" has the lines of all others", func() bool {
			s, err := wholeStatus(n)
			if err != nil || len(s.VIPs) == 0 {
				return false
			}
			held := 0
			for _, m := range s.VIPs[0].Members {
				if m.Lifeline {
					held++
				}
			}
			return held == len(g.Lab.Nodes)-1
		})
	}
}

// whyHere is the code of the newest move that a node knows of.
func whyHere(t *testing.T, n *lab.Node) code.Code {
	t.Helper()
	_, r := historyOf(t, n)
	return r.Code
}

// nodeOf is the node of that number.
func nodeOf(g *trial.Group, id int) *lab.Node { return g.Lab.Nodes[id-1] }

// TestKilledHolderIsSilentBeforeAnotherAnswers: its kernel takes the lease away with the packet that tells the others.
func TestKilledHolderIsSilentBeforeAnotherAnswers(t *testing.T) {
	t.Parallel()
	for _, vip := range dualStack() {
		t.Run(vip.String(), func(t *testing.T) {
			t.Parallel()
			g := open(t, trial.Config{Addresses: []netip.Addr{vip}})
			settled(t, g)
			lined(t, g)
			res := measure(t, g, trial.KilledForGood)
			assert.Zero(t, res.Report.Beside(res.Victim, res.FaultAt, res.Report.Ended), "the killed node answers beside another")
			moved(t, 1, res)
			if res.BySilence > 0 {
				return
			}
			assert.Equal(t, code.ProcessEnded, whyHere(t, nodeOf(g, res.Taker)))
		})
	}
}

// TestKilledHolderWhoseEndIsNotHeard: the lease decides, as without lifelines.
func TestKilledHolderWhoseEndIsNotHeard(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	settled(t, g)
	lined(t, g)
	res := measure(t, g, trial.KilledUnheard)
	assert.Zero(t, res.Report.Beside(res.Victim, res.FaultAt, res.Report.Ended))
	moved(t, 1, res)
	assert.Equal(t, code.HolderSilent, whyHere(t, nodeOf(g, res.Taker)))
}

// TestOrderlyStopIsNoDeath: the holder passes the address on, and takes the mark off its lines before they end.
func TestOrderlyStopIsNoDeath(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	settled(t, g)
	lined(t, g)
	res := measure(t, g, trial.Terminated)
	moved(t, 1, res)
	for _, n := range g.Lab.Nodes {
		if n.ID == res.Victim {
			continue
		}
		assert.Equal(t, code.Stopping, whyHere(t, n))
		assert.NotContains(t, g.Daemon(n).Log(), "lifeline of the Active has ended")
	}
	lined(t, g) // the one that was stopped is back
}

// TestResetOnTheWayMovesNothing: a filter on the way ends a line for a holder that lives.
func TestResetOnTheWayMovesNothing(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	settled(t, g)
	lined(t, g)
	stays(t, g, func() *lab.Node {
		holder := settled(t, g)
		for _, n := range g.Others(holder) {
			// The next sign of life on a line arrives as a reset, with TTL 255 and the right numbers.
			must(n.RunInput("table inet resets { chain in { type filter hook prerouting priority -300; tcp dport 9646 tcp flags & (syn|fin|rst) == 0 tcp flags set 0x14; }; }", "nft", "-f", "-"))(t)
		}
		for _, n := range g.Others(holder) {
			eventually(t, 40*time.Second, n.Label+" finds that the holder answers", func() bool {
				return strings.Contains(g.Daemon(n).Log(), "the lifeline of the Active has ended, and the address is answered for")
			})
		}
		return holder
	})
	for _, n := range g.Lab.Nodes {
		assert.NotContains(t, g.Daemon(n).Log(), string(code.ProcessEnded))
	}
}

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
	t.Parallel()
	for name, cfg := range map[string]trial.Config{
		"IPv6":         {Product: trial.Fast(), Addresses: []netip.Addr{lab.VIP6}},
		"both, 5":      {Product: trial.Fast(), Addresses: dualStack(), Lab: lab.Config{Nodes: 5}},
		"with a key":   {Product: trial.Keyed{Args: trial.Fast().Args}},
		"two, witness": {Product: trial.Fast("--detector-witness", "10.77.0.201"), Lab: lab.Config{Nodes: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, cfg)
			settled(t, g)
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
}

// TestHolderWhoseHostAnswersIsNotGone: while somebody hears it, whatever else is lost, and while it stands still, when its lease decides. Members in virtual
// time go through all that may be lost between nodes.
func TestHolderWhoseHostAnswersIsNotGone(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Product: trial.Fast()})
	settled(t, g)
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
	settled(t, g)
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
