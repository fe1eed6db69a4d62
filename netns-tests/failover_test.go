//go:build netns

package netnstests

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestNodeDeath(t *testing.T) {
	each(t, map[string]trial.Config{
		"priorities 200/150/100":       {Priorities: []int{200, 150, 100}},
		"equal priorities, IPv6":       {Addresses: []netip.Addr{lab.VIP6}},
		"equal priorities, dual stack": {Addresses: dualStack()},
		"a client behind a router":     {Lab: lab.Config{OffLink: true}},
	}, func(t *testing.T, cfg trial.Config) {
		g := open(t, cfg)
		res := measure(t, g, trial.NodeDeath)
		assert.NotZero(t, res.Taker)
		assert.NotEqual(t, res.Victim, res.Taker)
		assert.LessOrEqual(t, res.Takeovers, 2*res.BySilence+res.Report.Rivalry(res.FaultAt, res.Report.Ended), "takeovers")
		assert.Zero(t, res.Report.Beside(res.Victim, res.FaultAt, res.Report.Ended), "the dead node answers beside another")
		assert.GreaterOrEqual(t, res.Announce, time.Duration(0), "the taker announced nothing")
		if len(cfg.Priorities) > 0 {
			assert.Equal(t, 2, res.Taker, "the next in rank takes over")
		}
		for _, a := range g.Addresses {
			s := res.Report.Stream("c1", a)
			require.NotNil(t, s)
			took := func(b lab.Bind) bool { return b.Added && b.Node == s.Last && b.At >= res.FaultAt }
			assert.True(t, slices.ContainsFunc(res.Report.Binds, took), "%s is answered by n%d, which has taken it", a, s.Last)
		}
	})
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
	led := r.Leads(holder.ID, at) // else it stood still, and another node has the address
	if led && assert.NotEmpty(t, resigned, "no advertisement with priority 0") {
		late := slices.DeleteFunc(slices.Clone(r.Answers), func(a lab.Answer) bool {
			return a.Node != holder.ID || a.At < resigned[0].At || !slices.Contains(g.Addresses, a.Address)
		})
		assert.Empty(t, late, "priority 0 at %v, before the address was off", resigned[0].At)
	}
	reached(t, g)
	assert.True(t, !led || r.Takeovers(lab.VIP4, at) > 0, "another node takes over")
	assert.LessOrEqual(t, r.Takeovers(lab.VIP4, at), 1+2*r.BySilence(at)+r.Rivalry(at, r.Ended), "takeovers")
	assert.Zero(t, r.Beside(holder.ID, at, r.Ended), "the node that has ended answers beside another")

	for _, n := range g.Others(holder) {
		must(g.Daemon(n).Terminate(5 * time.Second))(t)
	}
	for _, n := range g.Lab.Nodes {
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
