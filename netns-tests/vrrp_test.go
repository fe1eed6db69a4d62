//go:build netns

package netnstests

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// openMixed opens a group whose nodes may run different daemons.
func openMixed(t *testing.T, cfg trial.Config) *trial.Group {
	t.Helper()
	return opened(t, trial.OpenMixed, cfg)
}

func TestJunkMovesNothing(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{})
	for i, n := range g.Lab.Nodes {
		g.Settings[i].VRID = 51
		require.NoError(t, g.Start(n))
	}
	for _, kind := range []string{trial.JunkMixed, trial.JunkList} {
		res := measure(t, g, trial.Junk(kind, 5_000, 2*time.Second))
		t.Logf("%s: %s, CPU %.1f %%", kind, res.Note, res.CPU)
		moved(t, 0, res)
	}
}

func TestForgeriesMoveNothingWithAKey(t *testing.T) {
	t.Parallel()
	g := openMixed(t, trial.Config{Product: trial.Keyed{}})
	for _, kind := range trial.Attacks() {
		res := measure(t, g, trial.Attack(kind, 2*time.Second))
		t.Logf("%s: %s, CPU %.1f %%", kind, res.Note, res.CPU)
		moved(t, 0, res)
	}
}

// The attacks are real: without a key they work.
func TestForgeriesWorkWithoutAKey(t *testing.T) {
	t.Parallel()
	g := openMixed(t, trial.Config{})
	res := measure(t, g, trial.Attack(trial.ForgedOwner, time.Second))
	// The report's own figure: a starved machine's share, which the result leaves out, may be all of a second.
	assert.Greater(t, res.Report.LongestAfter(res.FaultAt), 500*time.Millisecond)
}

// The figures for 255 instances are measured by cmd/bench.
func TestManyInstances(t *testing.T) {
	t.Parallel()
	g := must(trial.OpenMany(host, trial.RunKeepvip, 64, time.Second))(t)
	t.Cleanup(func() { finish(t, g) })
	res := measure(t, g, trial.ManyDie(time.Second))
	t.Logf("holder: CPU %.1f %%, RSS %.1f MiB; %s", res.CPU, float64(res.RSS)/(1<<20), res.Note)
	assert.NotZero(t, res.Answered)
	assert.Less(t, res.RSS, int64(60<<20))
}

func TestClocksThatDisagreeElectOneHolderWithAKey(t *testing.T) {
	t.Parallel()
	res := counted(t, trial.Config{Product: trial.Keyed{Ahead: []time.Duration{0, -8 * time.Second, -4 * time.Second}}}, trial.BootTogether)
	moved(t, 0, res)
}

func TestSteppedClockMovesNothingWithAKey(t *testing.T) {
	t.Parallel()
	res := counted(t, trial.Config{Product: trial.Keyed{Ahead: make([]time.Duration, 3)}}, trial.StepClocks(time.Hour, 500*time.Millisecond))
	moved(t, 0, res)
}

// Without the members' messages, too, a node names whose advertisements its own configuration refuses: of a node that it does not list, and of one
// behind a router. Both hold the address, and nobody else can know why.
func TestSplitByConfigurationIsNamedInPlainVRRP(t *testing.T) {
	type row struct {
		listed bool // the second node lists the first one
		rules  string
		code   string
		remedy string
	}
	each(t, map[string]row{
		"half-listed":     {code: "KV319", remedy: "vrrp.peers"},
		"behind a router": {listed: true, code: "KV370", remedy: "vrrp.minTTL", rules: "table ip router { chain out { type filter hook output priority 0; ip protocol 112 ip ttl set 254; }; }"},
	}, func(t *testing.T, tt row) {
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
		first, second := g.Lab.Nodes[0], g.Lab.Nodes[1]
		start := func(n *lab.Node, peers string) {
			runFile(t, g, n, fmt.Sprintf(fileHead+"port: 0\nvips: [{name: api, addresses: [%s], interface: %s, check: none, vrrp: {id: 51, peers: [%s]}}]\n",
				lab.VIP4, n.NICs[0].Name, peers))
		}
		if tt.rules != "" {
			must(first.RunInput(tt.rules, "nft", "-f", "-"))(t)
		}
		start(first, first.Address.String()+", "+second.Address.String())
		eventually(t, 20*time.Second, "the first node advertises", func() bool { return first.Holds(lab.VIP4) })
		others := "10.77.0.99"
		if tt.listed {
			others = first.Address.String()
		}
		start(second, second.Address.String()+", "+others)
		said := func() string {
			return printed(t, second, "status")
		}
		require.True(t, eventually(t, 60*time.Second, "it names the cause", func() bool {
			return strings.Contains(said(), tt.code) && strings.Contains(said(), first.Address.String())
		}), said())
		assert.Contains(t, g.Daemon(second).Log(), tt.remedy)
	})
}
