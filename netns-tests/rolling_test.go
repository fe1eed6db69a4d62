//go:build netns

package netnstests

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestRolling is one test, whose parts follow each other: a client opens fifty connections a second meanwhile. With TLS they take a good
// part of a processor, and several such clients at once would measure each other.
func TestRolling(t *testing.T) {
	// Compilers keep the processors busy: before the others begin.
	others := map[string]string{}
	for name, edits := range map[string][]trial.Edit{"says more": trial.MoreFields, "another format": trial.AnotherFormat} {
		path, err := trial.BuildVersion(t.TempDir(), "other", edits)
		require.NoError(t, err)
		others[name] = path
	}
	t.Parallel()
	t.Run("restart of keepvip fails no request", func(t *testing.T) { rollingRestart(t, trial.RollingDaemons) })
	t.Run("restart of the apiservers fails no request", func(t *testing.T) { rollingRestart(t, trial.RollingAPIServers) })
	t.Run("upgrade", func(t *testing.T) { rollingUpgrade(t, others["says more"]) })
	t.Run("upgrade to another format", func(t *testing.T) { upgradeToAnotherFormat(t, others["another format"]) })
}

func rollingRestart(t *testing.T, restart trial.Fault) {
	t.Helper()
	rolled(t, counted(t, trial.Config{API: true}, restart))
}

func rolled(t *testing.T, res *trial.Result) {
	t.Helper()
	requests := res.Report.HTTPS[0]
	t.Logf("%s, a request takes %v, one of a hundred more than %v", res.Note, requests.Latency(50), requests.Latency(99))
	assert.NotZero(t, res.Takeovers)
	if tooSlow(t, res) {
		return
	}
	assert.LessOrEqual(t, res.MovesMost, 1+res.Explained, "moves for one node")
	assert.LessOrEqual(t, res.LostMost, 3*res.Takeovers/2+res.LostMostRoom)
	excused := excused(t, res)
	assert.LessOrEqual(t, res.FailedTwice, excused, "requests that failed again when they were made once more")
	assert.LessOrEqual(t, res.Failed, excused, "requests refused or timed out")
	// Those that are under way.
	assert.LessOrEqual(t, res.Resets, res.Takeovers*(2+int(requests.Latency(99)/requests.Interval)), "in %d moves", res.Takeovers)
}

// excused is how many requests may fail because the machine stood still around them.
func excused(t *testing.T, res *trial.Result) int {
	t.Helper()
	if res.Stall <= 200*time.Millisecond {
		return 0
	}
	t.Logf("the machine stood still for %s ms within a second: %d requests around that are excused", lab.Milliseconds(res.Stall), res.FailedRoom)
	return res.FailedRoom
}

// tooSlow tells that whether a request fails, or how often the address moves, says nothing: a daemon that does not run for three
// intervals is a dead one to the others.
func tooSlow(t *testing.T, res *trial.Result) bool {
	t.Helper()
	if res.Report.HTTPS[0].Latency(50) < 15*time.Millisecond {
		return false
	}
	notJudged(t, "this machine cannot serve fifty requests a second")
	return true
}

// previous names another keepvip to upgrade from, as a release before it is published: else only what today's tree can show is shown.
const previous = "KEEPVIP_PREVIOUS"

// One node after the other gets another version. There is no version yet that spoke otherwise, so another one is today's with
// changed messages.
func rollingUpgrade(t *testing.T, other string) {
	t.Helper()
	for _, c := range []struct{ name, from, to string }{
		{"to one that says more", "", other},
		{"from one that said more", other, ""},
		{"from " + previous, os.Getenv(previous), ""},
	} {
		if c.from == c.to {
			continue // nothing was named
		}
		t.Run(c.name, func(t *testing.T) {
			g := open(t, trial.Config{API: true, Product: versions(c.from)})
			upgraded(t, g, c.to)
		})
	}
}

func versions(path string) trial.Versions { return trial.Versions{Paths: []string{path, path, path}} }

// upgraded shows that no request fails, that all know each other in between, and that the address is passed on by the exchange.
func upgraded(t *testing.T, g *trial.Group, to string) {
	t.Helper()
	rolled(t, measure(t, g, trial.Upgrade(to, trial.AtOnce)))
	for _, n := range g.Lab.Nodes {
		s, err := trial.Keepvip{}.Status(n)
		require.NoError(t, err)
		assert.Len(t, s.VIPs[0].Members, 3)
		assert.Empty(t, s.VIPs[0].Counters.MembersRejected)
	}
}

// Nodes that speak another format of the messages are plain VRRP to each other: a move between them loses what VRRP loses.
func upgradeToAnotherFormat(t *testing.T, other string) {
	t.Helper()
	// A request that is made again within the gap of such a move is lost like the first.
	const gap = 200 * time.Millisecond
	g := open(t, trial.Config{API: true, Product: versions("")})
	for _, to := range []string{other, ""} {
		res := measure(t, g, trial.Upgrade(to, gap))
		t.Log(res.Note)
		assert.NotZero(t, res.Takeovers)
		if tooSlow(t, res) {
			continue
		}
		assert.LessOrEqual(t, res.MovesMost, 1+res.Explained, "moves for one node")
		assert.Less(t, res.Outage, gap+res.OutageRoom, "priority 0 and the Skew_Time")
		// Each standstill counts: the gap is hardly longer than what such a move takes.
		assert.LessOrEqual(t, res.FailedTwice, res.FailedRoom)
	}
	counted := 0
	for _, n := range g.Lab.Nodes {
		s, err := trial.Keepvip{}.Status(n)
		require.NoError(t, err)
		counted += s.VIPs[0].Counters.MembersRejected["version"]
	}
	assert.NotZero(t, counted, "what cannot be read is counted")
}
