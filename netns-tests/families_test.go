//go:build netns

package netnstests

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// bothFamilies is an entry whose election goes by IPv4.
var bothFamilies = trial.Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}}

// switchedOff has the IPv6 of the holder switched off, which gives both addresses to a node that has both families, and is fit again as soon as it can.
func switchedOff(t *testing.T, cfg trial.Config, while func(g *trial.Group, former *lab.Node), again func(v trial.VIPStatus) bool) {
	t.Helper()
	g, former := openHeld(t, cfg)
	require.NoError(t, former.SwitchIPv6Off())
	require.True(t, eventually(t, 20*time.Second, "a node with both families holds both", func() bool {
		h := g.Holders()
		return len(h) == 1 && h[0] != former && h[0].Holds(lab.VIP4) && h[0].Holds(lab.VIP6) && !former.Holds(lab.VIP4)
	}), g.Logs())
	while(g, former)
	require.NoError(t, former.SwitchIPv6On())
	require.True(t, eventually(t, 20*time.Second, "it is fit again", shows(former, again)), g.Logs())
}

// Each change is one line.
func TestFamilyThatIsSwitchedOffAtTheHolder(t *testing.T) {
	each(t, map[string]func(*trial.Config){
		"VRRP, preempt false": func(c *trial.Config) { c.Product = trial.Keepvip{Args: []string{"--preempt=false"}} },
		"Raft":                func(c *trial.Config) { *c = trial.RaftConfig(trial.Raft{}); c.Addresses = bothFamilies.Addresses },
	}, func(t *testing.T, change func(*trial.Config)) {
		cfg := bothFamilies
		change(&cfg)
		switchedOff(t, cfg, func(g *trial.Group, former *lab.Node) {
			s := statusOf(t, former)
			assert.Contains(t, s.VIPs[0].Lacking, "IPv6 is off on eth0")
			assert.Contains(t, s.VIPs[0].Unfit, "IPv6 is off on eth0")
			settleFor(6 * time.Second) // more than one renewal
			assert.Equal(t, 1, strings.Count(g.Daemon(former).Log(), "KV343 reason"), g.Daemon(former).Log())
			assert.NotContains(t, g.Daemon(former).Log(), "not corrected")
		}, func(v trial.VIPStatus) bool { return v.Lacking == "" && v.Eligible })
	})
}

func TestLastNodeKeepsTheFamilyThatWorks(t *testing.T) {
	t.Parallel() // seconds of waiting for looks
	cfg := bothFamilies
	cfg.Lab.Nodes = 1
	g, n := openHeld(t, cfg)
	reaches := func(a netip.Addr) bool { return g.Lab.Reaches(g.Lab.Client.Namespace, a, 2*time.Second) }
	require.True(t, reaches(lab.VIP6))
	require.NoError(t, n.SwitchIPv6Off())
	settleFor(8 * time.Second) // longer than an address lives that is not renewed
	assert.True(t, reaches(lab.VIP4), "IPv4 is served")
	assert.Contains(t, printed(t, n, "status"), "MISSING   IPv6 is off on eth0, so fd77::100 is not bound on this node [KV343]")
	log := g.Daemon(n).Log()
	assert.Equal(t, 1, strings.Count(log, "level=WARN"), log)
	require.NoError(t, n.SwitchIPv6On())
	require.True(t, eventually(t, 20*time.Second, "IPv6 is served again", func() bool { return reaches(lab.VIP6) }), g.Logs())
	assert.True(t, eventually(t, 20*time.Second, "nothing is missing", shows(n, func(v trial.VIPStatus) bool { return v.Lacking == "" && v.Eligible })))
	assert.Equal(t, 1, strings.Count(g.Daemon(n).Log(), "every family can be bound again"))
	assert.NotContains(t, g.Daemon(n).Log(), "address restored")
	assert.NotContains(t, g.Daemon(n).Log(), "to=backup reason=\"the address", "the address stayed")
}

// Where the first address is of IPv6, a node whose IPv6 is off takes no part: another one has the addresses of both families, and the cause is named.
func TestFamilyOfTheElectionThatIsSwitchedOff(t *testing.T) {
	t.Parallel() // seconds of waiting for looks
	cfg := bothFamilies
	cfg.Addresses = []netip.Addr{lab.VIP6, lab.VIP4}
	switchedOff(t, cfg, func(_ *trial.Group, former *lab.Node) {
		assert.Contains(t, statusOf(t, former).VIPs[0].Unfit, "IPv6 is off on eth0, and fd77::100 is elected with IPv6, and 10.77.0.100 with it: written first")
	}, func(v trial.VIPStatus) bool { return v.State == "backup" && v.Eligible })
}

// A node without IPv6 from the beginning takes the address only when nobody else is left.
func TestNodeWithoutAFamilyComesLast(t *testing.T) {
	t.Parallel() // seconds of waiting for looks
	g := prepare(t, bothFamilies)
	lame := g.Lab.Nodes[2] // the highest address wins among equals
	require.NoError(t, lame.SwitchIPv6Off())
	require.NoError(t, g.StartAll())
	holder := settled(t, g)
	assert.NotEqual(t, lame, holder)
	for _, n := range g.Lab.Nodes[:2] {
		require.NoError(t, g.Daemon(n).Kill9())
	}
	require.True(t, eventually(t, 20*time.Second, "it takes the address when nobody else is left", func() bool { return lame.Holds(lab.VIP4) }), g.Logs())
	assert.True(t, g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, 5*time.Second))
	settleFor(5 * time.Second)
	assert.Equal(t, 1, strings.Count(g.Daemon(lame).Log(), "level=WARN msg=\"addresses of one family"), g.Daemon(lame).Log())
}
