//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestNodeDeath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		give trial.Config
	}{
		{"priorities 200/150/100", trial.Config{Priorities: []int{200, 150, 100}}},
		{"equal priorities, IPv6", trial.Config{Addresses: []netip.Addr{lab.VIP6}}},
		{"equal priorities, dual stack", trial.Config{Addresses: dualStack()}},
		{"a client behind a router", trial.Config{Lab: lab.Config{OffLink: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := open(t, c.give)
			res := measure(t, g, trial.NodeDeath)
			assert.NotZero(t, res.Taker)
			assert.NotEqual(t, res.Victim, res.Taker)
			assert.LessOrEqual(t, res.Takeovers, 2*res.BySilence+res.Report.Rivalry(res.FaultAt, res.Report.Ended), "takeovers")
			assert.Zero(t, res.Report.Beside(res.Victim, res.FaultAt, res.Report.Ended), "the dead node answers beside another")
			assert.GreaterOrEqual(t, res.Announce, time.Duration(0), "the taker announced nothing")
			if len(c.give.Priorities) > 0 {
				assert.Equal(t, 2, res.Taker, "the next in rank takes over")
			}
			for _, a := range g.Addresses {
				s := res.Report.Stream("c1", a)
				require.NotNil(t, s)
				assert.Equal(t, res.Taker, s.Last, "%s is answered by the taker", a)
			}
		})
	}
}

// neverApart asserts that no node bound one of the addresses while another node had the other.
func neverApart(t *testing.T, r *lab.Report) {
	t.Helper()
	held := map[netip.Addr]int{}
	for _, b := range r.Binds {
		if !b.Added {
			held[b.Address] = 0
			continue
		}
		held[b.Address] = b.Node
		for a, node := range held {
			if node != 0 {
				assert.Equal(t, b.Node, node, "%s and %s at %v", b.Address, a, b.At)
			}
		}
	}
}

func TestCablePulled(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	res := measure(t, g, trial.CablePulled)
	assert.NotEqual(t, res.Victim, res.Taker)
	settled(t, g)
}

// Plain VRRP: among nodes that talk to each other the address is passed on, and there is no priority 0.
func TestTerminationLeavesNoTrace(t *testing.T) {
	t.Parallel()
	plain := trial.Keepvip{Args: []string{"--port", "0"}}
	g := prepare(t, trial.Config{Product: plain, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}})
	before := map[int]lab.State{}
	for _, n := range g.Lab.Nodes {
		before[n.ID] = must(n.State())(t)
		require.NoError(t, g.Start(n))
	}
	holder := settled(t, g)
	m := must(g.Lab.Measure(lab.MeasureConfig{Targets: g.Addresses}))(t)
	settleFor(300 * time.Millisecond)
	at := m.Mark("SIGTERM on %s", holder.Label)
	code := must(g.Daemon(holder).Terminate(5 * time.Second))(t)
	settleFor(time.Second)
	r := m.Stop()

	assert.Zero(t, code, "exit status")
	for _, a := range g.Addresses {
		assert.False(t, holder.Holds(a), "%s is still there", a)
	}
	var resigned []lab.Advert
	for _, a := range r.AdvertsOf(holder.ID, at, r.Ended) {
		if a.Priority == 0 {
			resigned = append(resigned, a)
		}
	}
	if assert.NotEmpty(t, resigned, "no advertisement with priority 0") {
		late := slices.DeleteFunc(slices.Clone(r.Answers), func(a lab.Answer) bool {
			return a.Node != holder.ID || a.At < resigned[0].At || !slices.Contains(g.Addresses, a.Address)
		})
		assert.Empty(t, late, "priority 0 at %v, before the address was off", resigned[0].At)
	}
	reached(t, g)
	assert.NotZero(t, r.Takeovers(lab.VIP4, at))
	assert.LessOrEqual(t, r.Takeovers(lab.VIP4, at), 1+2*r.BySilence(at)+r.Rivalry(at, r.Ended), "takeovers")
	assert.Zero(t, r.Beside(holder.ID, at, r.Ended), "the node that has ended answers beside another")

	for _, n := range g.Lab.Nodes {
		if n != holder {
			must(g.Daemon(n).Terminate(5 * time.Second))(t)
		}
		assert.Equal(t, before[n.ID], must(n.State())(t), "%s before start and after SIGTERM", n.Label)
		assert.NoFileExists(t, trial.Socket(n))
	}
}

func TestKilledDaemonRestarts(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	measure(t, g, trial.DaemonRestarted)
	settled(t, g)
}

func TestLeftoverAddressIsHandledAtStart(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{})
	// What a daemon that was killed leaves, on two nodes at once.
	for _, n := range g.Lab.Nodes[:2] {
		require.NoError(t, n.AddAddress(hostPrefix(lab.VIP4)))
	}
	require.NoError(t, g.StartAll())
	settled(t, g)
	assert.Len(t, g.Holders(), 1)
}

func TestCleanupRemovesWhatAKilledDaemonLeft(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	before := must(n.State())(t)
	require.NoError(t, g.Start(n))
	settled(t, g)
	require.NoError(t, g.Daemon(n).Kill9())
	must(g.Daemon(n).Wait(time.Second))(t)
	require.True(t, n.Holds(lab.VIP4), "nothing was left behind, the test shows nothing")
	p, code := mustTwo(trial.Keepvip{}.Command(n, "cleanup"))(t)
	assert.Zero(t, code, p.Log())
	assert.Equal(t, before, must(n.State())(t))
}

// A service that is gone and one that says nothing: which answers count as one is what the tests of internal/check/health say, what follows from it those of elections in
// virtual time, and the bench has all of them.
func TestUnhealthyAPIServerMovesTheAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault trial.Fault
	}{
		{"killed", trial.APIKilled},
		{"stands still", trial.APIFrozen(5 * time.Second)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// A new group each time: a check that flaps is slow to believe in health again.
			res := counted(t, trial.Config{API: true}, c.fault)
			moved(t, 1, res)
			assert.Less(t, res.RSS, int64(32<<20), "memory at its most")
		})
	}
}

func TestLostRouterMovesTheAddress(t *testing.T) {
	t.Parallel()
	for _, vip := range dualStack() {
		t.Run(vip.String(), func(t *testing.T) {
			t.Parallel()
			res := counted(t, trial.Config{Product: trial.Gatewayed{}, Addresses: []netip.Addr{vip}}, trial.RouterLost(4*time.Second))
			moved(t, 1, res)
			assert.GreaterOrEqual(t, res.Seen, time.Duration(0), "keepvip has seen it")
		})
	}
}

func TestBinarySize(t *testing.T) {
	info := must(os.Stat(must(trial.Binary())(t)))(t)
	t.Logf("%.2f MB", float64(info.Size())/1e6)
	assert.LessOrEqual(t, info.Size(), int64(24_000_000))
}

func TestQuietGroup(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{API: true})
	m := must(g.Lab.Measure(lab.MeasureConfig{HTTPS: true}))(t)
	at := m.Mark("nothing happens")
	settleFor(5 * time.Second)
	r := m.Stop()
	assert.LessOrEqual(t, r.Takeovers(lab.VIP4, at), 2*r.BySilence(at), "a takeover from a holder that advertised")
	reached(t, g)
	assert.LessOrEqual(t, weighs(t, g, (*lab.Process).Own), int64(8_000_000))
}

func TestTwoCapabilitiesSuffice(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Product: trial.Keepvip{Capabilities: []string{"net_admin", "net_raw"}}, Addresses: dualStack()})
	for _, n := range g.Lab.Nodes {
		status := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", g.Daemon(n).PID())))(t)
		assert.Contains(t, strings.ReplaceAll(string(status), "\t", " "), "CapBnd: 0000000000003000")
	}
	measure(t, g, trial.NodeDeath)
	measure(t, g, trial.Terminated)
}

// bothFamilies is an entry whose election goes by IPv4.
var bothFamilies = trial.Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}}

// switchedOff has the IPv6 of the holder switched off, which gives both addresses to a node that has both families, and is fit again as soon as it can.
func switchedOff(t *testing.T, cfg trial.Config, while func(g *trial.Group, former *lab.Node), again func(v trial.VIPStatus) bool) {
	t.Helper()
	g := open(t, cfg)
	former := settled(t, g)
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
	t.Parallel()
	for name, change := range map[string]func(*trial.Config){
		"VRRP, preempt false": func(c *trial.Config) { c.Product = trial.Keepvip{Args: []string{"--preempt=false"}} },
		"Raft":                func(c *trial.Config) { *c = trial.RaftConfig(trial.Raft{}); c.Addresses = bothFamilies.Addresses },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // seconds of waiting for looks
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
}

func TestLastNodeKeepsTheFamilyThatWorks(t *testing.T) {
	t.Parallel() // seconds of waiting for looks
	cfg := bothFamilies
	cfg.Lab.Nodes = 1
	g := open(t, cfg)
	n := settled(t, g)
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
		assert.Contains(t, statusOf(t, former).VIPs[0].Reason, "IPv6 is off on eth0, and fd77::100 is elected with IPv6, and 10.77.0.100 with it: written first")
	}, func(v trial.VIPStatus) bool { return v.State == "backup" && v.Eligible })
}

// A node without IPv6 from the beginning takes the address only when nobody else is left.
func TestNodeWithoutAFamilyComesLast(t *testing.T) {
	t.Parallel() // seconds of waiting for looks
	g := prepare(t, bothFamilies)
	lame := g.Lab.Nodes[2] // the highest address wins among equals
	require.NoError(t, lame.SwitchIPv6Off())
	for _, n := range g.Lab.Nodes {
		require.NoError(t, g.Start(n))
	}
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
