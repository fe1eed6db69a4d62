//go:build netns

package lab

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var host *Host // one per process, made before any test runs

func TestMain(m *testing.M) {
	host = Enter()
	code := m.Run()
	host.Close()
	os.Exit(code)
}

func open(t *testing.T, cfg Config) *Lab {
	t.Helper()
	l := must(host.Open(cfg))(t)
	t.Cleanup(l.Close)
	return l
}

// settleFor waits in short steps: a machine that stands still takes one of them away, and not all.
func settleFor(d time.Duration) {
	for range d / (10 * time.Millisecond) {
		<-time.After(10 * time.Millisecond)
	}
}

// move gives the address to a node by hand and announces it.
func move(t *testing.T, n *Node, addr netip.Addr) {
	t.Helper()
	require.NoError(t, n.AddAddress(netip.PrefixFrom(addr, addr.BitLen())))
	require.NoError(t, n.Announce(addr))
}

func drop(t *testing.T, n *Node, addr netip.Addr) {
	t.Helper()
	require.NoError(t, n.RemoveAddress(netip.PrefixFrom(addr, addr.BitLen())))
}

func TestMeasurementSeesAnAddressMovedByHand(t *testing.T) {
	l := open(t, Config{Nodes: 2, OffLink: true})
	first, second := l.Nodes[0], l.Nodes[1]
	move(t, first, VIP4)
	settleFor(100 * time.Millisecond)
	m := must(l.Measure(MeasureConfig{OffLink: true}))(t)
	settleFor(200 * time.Millisecond)
	fault := m.Mark("address removed")
	drop(t, first, VIP4)
	dropped := l.Now()
	settleFor(300 * time.Millisecond)
	moving := l.Now()
	move(t, second, VIP4)
	moved := l.Now()
	settleFor(300 * time.Millisecond)
	r := m.Stop()

	for _, client := range []string{"c1", "c2"} {
		s := r.Stream(client, VIP4)
		require.NotNil(t, s)
		assert.Greater(t, s.Longest, moving-dropped-150*time.Millisecond, "%s: longest outage", client)
		assert.Positive(t, s.ByNode[second.ID], "%s: answered again", client)
		assert.Equal(t, second.ID, s.Last, "%s: last answer", client)
		assert.Equal(t, []Change{{At: s.Changes[0].At, From: 1, To: 2}}, s.Changes)
	}
	assert.Equal(t, 1, r.Takeovers(VIP4, fault))
	assert.Equal(t, second.ID, r.Taker(VIP4, fault))
	_, unbound := r.Unbound(first.ID, VIP4, fault)
	assert.True(t, unbound)
	assert.Len(t, r.AnnouncementDelays(VIP4, fault), 1)
	assert.Zero(t, r.Two())
	assert.True(t, r.Answered(second.ID, VIP4, moved, r.Ended))
	assert.False(t, r.Answered(first.ID, VIP4, dropped, r.Ended))
	if testing.Verbose() {
		r.Timeline(os.Stdout, fault)
	}
}

func TestMeasurementSeesTwoNodesAnswering(t *testing.T) {
	l := open(t, Config{Nodes: 3})
	for _, vip := range []netip.Addr{VIP4, VIP6} {
		move(t, l.Nodes[0], vip)
	}
	m := must(l.Measure(MeasureConfig{Targets: []netip.Addr{VIP4, VIP6}}))(t)
	settleFor(100 * time.Millisecond)
	began := l.Now()
	for _, vip := range []netip.Addr{VIP4, VIP6} {
		require.NoError(t, l.Nodes[1].AddAddress(netip.PrefixFrom(vip, vip.BitLen())))
	}
	settleFor(300 * time.Millisecond)
	for _, vip := range []netip.Addr{VIP4, VIP6} {
		drop(t, l.Nodes[1], vip)
	}
	ended := l.Now()
	settleFor(100 * time.Millisecond)
	r := m.Stop()
	for _, vip := range []netip.Addr{VIP4, VIP6} {
		for _, two := range []time.Duration{r.TwoIn(0, r.Ended, vip), r.DiscoveryTwoIn(0, r.Ended, vip)} {
			assert.Greater(t, two, 150*time.Millisecond, vip)
			assert.LessOrEqual(t, two, ended-began, vip)
		}
		assert.True(t, r.Answered(1, vip, ended, r.Ended))
		assert.False(t, r.Answered(2, vip, ended, r.Ended))
		assert.False(t, r.Answered(3, vip, r.Began, r.Ended))
	}
	for _, s := range r.Streams {
		assert.Equal(t, map[int]int{1: s.Sent - s.Lost}, s.ByNode, "the client's own neighbour cache must stay untouched")
	}
}

func TestNodeFaults(t *testing.T) {
	l := open(t, Config{Nodes: 2})
	n := l.Nodes[0]
	reachable := func() bool { return l.Reaches(l.Client.Namespace, n.Address, 10*time.Second) }
	silent := func() bool { return !l.Reaches(l.Client.Namespace, n.Address, 500*time.Millisecond) }
	carrier := func() bool {
		out := must(n.Run("ip", "-br", "link", "show", n.NICs[0].Name))(t)
		return !strings.Contains(out, "NO-CARRIER")
	}
	require.True(t, reachable())

	must(n.CutPort())(t)
	assert.True(t, silent(), "port cut")
	assert.True(t, carrier(), "a cut port keeps the carrier")
	must(n.HealPort())(t)
	assert.True(t, reachable(), "port healed")

	must(n.PullCable())(t)
	assert.False(t, carrier(), "cable pulled")
	require.NoError(t, n.PlugCable())
	assert.True(t, reachable(), "cable plugged")

	require.NoError(t, n.Lose("meta l4proto udp", 100, In))
	assert.True(t, silent(), "all UDP lost")
	require.NoError(t, n.LoseNothing())
	assert.True(t, reachable(), "no loss")

	p := must(n.Start("sleeper", "sleep", "1000"))(t)
	require.NoError(t, n.AddAddress(netip.PrefixFrom(VIP4, 32)))
	must(n.PowerOff())(t)
	assert.False(t, p.Alive(), "killed by the power cut")
	require.NoError(t, n.PowerOn())
	assert.False(t, n.Holds(VIP4), "a booted node has its own addresses only")
	assert.True(t, reachable(), "booted")
}

func TestAPIServerModes(t *testing.T) {
	l := open(t, Config{Nodes: 1})
	n := l.Nodes[0]
	move(t, n, VIP4)
	api := must(n.StartAPIServer())(t)
	window := func(mode APIMode, arg string) StreamReport {
		require.NoError(t, api.Set(mode, arg))
		m := must(l.Measure(MeasureConfig{HTTPS: true, NoDirect: true}))(t)
		settleFor(200 * time.Millisecond)
		r := m.Stop()
		require.NotZero(t, r.HTTPS[0].Sent)
		return r.HTTPS[0]
	}
	for _, c := range []struct {
		mode APIMode
		arg  string
		want bool
	}{
		{APIHealthy, "", true},
		{API500, "", false},
		{API403, "", false},
		{API401, "", false},
		{APIHang, "", false},
		{APIHandshake, "", false},
		{APIRefuse, "", false},
		{APISlow, "50ms", true},
		{APIShutdown, "", true},
	} {
		t.Run(fmt.Sprintf("%s %s", c.mode, c.arg), func(t *testing.T) {
			got := window(c.mode, c.arg)
			if c.want {
				assert.NotEqual(t, got.Sent, got.Lost)
				assert.Equal(t, 1, got.Last)
			} else {
				assert.Equal(t, got.Sent, got.Lost)
			}
		})
	}
	require.NoError(t, api.Kill9())
	must(api.Wait(10 * time.Second))(t)
}

func TestProcessRunsWithChosenCapabilitiesAndOrdinaryPolicy(t *testing.T) {
	l := open(t, Config{Nodes: 1})
	p := must(l.Nodes[0].StartCommand(Command{Name: "caps", Args: []string{"sh", "-c", "grep CapEff /proc/self/status; chrt -p $$"}, Capabilities: []string{"net_admin", "net_raw"}}))(t)
	code := must(p.Wait(20 * time.Second))(t)
	assert.Zero(t, code)
	assert.Contains(t, p.Stdout(), "0000000000003000")
	assert.Contains(t, p.Stdout(), "SCHED_OTHER")
}

func TestProcessSeesItsOwnDirectoryMounts(t *testing.T) {
	l := open(t, Config{Nodes: 1})
	n := l.Nodes[0]
	p := must(n.StartCommand(Command{Name: "mounts", Args: []string{"touch", "/mnt/here"}, Mounts: map[string]string{"/mnt": n.Path("mnt")}}))(t)
	code := must(p.Wait(20 * time.Second))(t)
	require.Zero(t, code, p.Log())
	assert.FileExists(t, n.Path("mnt/here"))
	assert.NoFileExists(t, "/mnt/here")
}
