//go:build netns

package lab

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const greetPort = 9443

func TestHeldConnectionsAreAliveOrLost(t *testing.T) {
	t.Parallel()
	l := open(t, Config{Nodes: 2, OffLink: true})
	n1, n2 := l.Nodes[0], l.Nodes[1]
	var greeters []*Greeter
	for _, n := range l.Nodes {
		g := must(n.StartGreeter(GreeterConfig{Port: greetPort}))(t)
		greeters = append(greeters, g)
	}
	began := l.Now()
	var held []*Held
	for _, target := range []netip.Addr{n1.Address, n1.Addr6, n2.Address, n2.Addr6} {
		for _, from := range []*Peer{l.Client, l.OffLink} {
			h := must(l.Hold(from.Namespace, HeldConfig{Target: netip.AddrPortFrom(target, greetPort), Count: 25}))(t)
			held = append(held, h)
		}
	}
	assert.Equal(t, 100, greeters[0].Connections())
	settleFor(300 * time.Millisecond)
	cut := must(n1.CutPort())(t)
	// Longer than all before, so that no stall of that time can be the longest.
	settleFor(cut - began + 300*time.Millisecond)
	healed := must(n1.HealPort())(t)
	greeters[1].Close()
	settleFor(healed - cut + 100*time.Millisecond) // TCP sends again after no longer than it has waited so far
	for i, h := range held {
		assert.Equal(t, map[bool]int{true: 25}[i < 4], h.Alive("n1"))
		assert.Zero(t, h.Alive("n2"), "what is lost is alive no more")
		r := h.Stop()
		assert.Zero(t, r.Disguised())
		if i < 4 {
			assert.Zero(t, r.Lost(), r.Failures())
			assert.Equal(t, map[string]int{"n1": 25}, r.ByNode())
			longest := r.Longest()
			assert.Greater(t, longest.Stall, 250*time.Millisecond, "%s to %s", r.Client, r.Target)
			assert.Greater(t, longest.StallAt, cut-100*time.Millisecond)
			continue
		}
		assert.Equal(t, 25, r.Lost())
		assert.Equal(t, map[string]int{"n2": 25}, r.ByNode())
		assert.Less(t, longest(r.Conns, func(c HeldConn) time.Duration { return c.Lost }), l.Now())
	}
	s := must(l.Sample(l.OffLink.Namespace, netip.AddrPortFrom(n1.Addr6, greetPort), 200))(t)
	assert.Equal(t, Sampled{ByNode: map[string]int{"n1": 200}, Failures: map[string]int{}, Slowest: s.Slowest}, s)
	assert.InDelta(t, 100, s.Worst(2), 0.1)
	s = must(l.Sample(l.Client.Namespace, netip.AddrPortFrom(n2.Address, greetPort), 10))(t)
	assert.Equal(t, map[string]int{"connection refused": 10}, s.Failures)
}

func TestDownloadThroughANarrowRouter(t *testing.T) {
	t.Parallel()
	const port, size = 9444, 200_000
	l := open(t, Config{Nodes: 1, OffLink: true})
	require.NoError(t, l.Nodes[0].StartDownloads(port, size))
	require.NoError(t, l.NarrowRouter(1400))
	for _, a := range []netip.Addr{l.Nodes[0].Address, l.Nodes[0].Addr6} {
		got := must(l.Download(l.OffLink.Namespace, netip.AddrPortFrom(a, port), 2, 10*time.Second))(t)
		assert.Equal(t, []int{size, size}, got)
	}
	routes := must(l.Nodes[0].Run("ip", "route", "show", "cache"))(t)
	assert.Contains(t, routes, "mtu 1400", "the node was told of the narrow way")
}

func TestForgedSYNsAreAnswered(t *testing.T) {
	t.Parallel()
	l := open(t, Config{Nodes: 1, OffLink: true})
	n := l.Nodes[0]
	must(n.StartGreeter(GreeterConfig{Port: greetPort, Everywhere: true}))(t)
	require.NoError(t, l.LoseBehindRouter())
	f := must(l.Flood(l.Client, l.Client.ForgeSYNs(n.NICs[0].MAC, netip.AddrPortFrom(n.Address, greetPort), 1000), 1000))(t)
	assert.Eventually(t, func() bool {
		out, err := n.Run("ss", "-Htn", "state", "syn-recv")
		return err == nil && strings.Count(out, "10.97.0.") > 10
	}, 10*time.Second, 50*time.Millisecond)
	assert.Positive(t, f.Stop())
}
