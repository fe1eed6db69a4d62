//go:build netns

package netnstests

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestRolling is one test, whose parts follow each other: a client opens fifty connections a second meanwhile. With TLS they take a good
// part of a processor, and several such clients at once would measure each other.
func TestRolling(t *testing.T) {
	t.Parallel() // compilers run when nothing else wants to
	others := map[string]string{}
	for name, edits := range map[string][]trial.Edit{"says more": trial.MoreFields, "another format": trial.AnotherFormat} {
		others[name] = must(trial.BuildVersion(t.TempDir(), "other", edits))(t)
	}
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
	assert.LessOrEqual(t, res.MovesMost, 1+2*res.BySilence, "moves for one node")
	if res.BySilence == 0 && !tooSlow(res) {
		assert.Zero(t, res.FailedTwice, "requests that failed again when they were made once more")
		assert.Zero(t, res.Failed, "requests refused or timed out")
	}
}

// tooSlow tells that the machine cannot serve fifty requests a second: then clients wait for each other.
func tooSlow(res *trial.Result) bool { return res.Report.HTTPS[0].Latency(50) >= 15*time.Millisecond }

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
		s := statusOf(t, n)
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
		assert.LessOrEqual(t, res.MovesMost, 1+2*res.BySilence, "moves for one node")
	}
	counted := 0
	for _, n := range g.Lab.Nodes {
		s := statusOf(t, n)
		counted += s.VIPs[0].Counters.MembersRejected["version"]
	}
	assert.NotZero(t, counted, "what cannot be read is counted")
}
