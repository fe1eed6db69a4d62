//go:build netns

package lab

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
		assert.Less(t, r.LastLost(), l.Now())
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
	must(l.Nodes[0].StartDownloads(port, size))(t)
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

func TestProcessWithAClockOfItsOwn(t *testing.T) {
	n := open(t, Config{Nodes: 1}).Nodes[0]
	lines := n.Path("lines")
	require.NoError(t, unix.Mkfifo(lines, 0o600))
	// date reads its clock anew for each line of the file.
	p := must(n.StartCommand(Command{Name: "date", Args: []string{"date", "--file", lines, "+%s"}, Clock: &Clock{Ahead: 30 * time.Second}}))(t)
	f := must(os.OpenFile(lines, os.O_WRONLY, 0))(t)
	began := time.Now()
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 0} {
		must(f.WriteString("now\n"))(t)
		require.Eventually(t, func() bool { return hasRead(t, f, p) }, 20*time.Second, time.Millisecond)
		require.NoError(t, p.StepClock(ahead))
	}
	must(f.WriteString("now\n"))(t)
	require.NoError(t, f.Close())
	code := must(p.Wait(20 * time.Second))(t)
	require.Zero(t, code, p.Log())

	var ahead []float64
	for _, line := range strings.Fields(p.Stdout()) {
		unixTime := must(strconv.ParseInt(line, 10, 64))(t)
		ahead = append(ahead, float64(unixTime-began.Unix()))
	}
	assert.InDeltaSlice(t, []float64{30, 3600, -3600, 0}, ahead, 14) // less than half of what is between two
}

// hasRead tells whether a program has taken everything out of a pipe, and waits for more.
func hasRead(t *testing.T, pipe *os.File, p *Process) bool {
	t.Helper()
	left := must(unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ))(t)
	if left > 0 {
		return false
	}
	stat := must(os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/stat"))(t)
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "S")
}

func TestClockNeedsOneOfItsOwn(t *testing.T) {
	n := open(t, Config{Nodes: 1}).Nodes[0]
	p := must(n.Start("sleep", "sleep", "60"))(t)
	assert.ErrorContains(t, p.StepClock(time.Hour), "started without one")
	_, err := n.StartCommand(Command{Name: "sleep", Args: []string{"sleep", "60"}, Clock: &Clock{}, Capabilities: []string{}})
	assert.ErrorContains(t, err, "do not go together")
}

func TestMeasuringThreadsAreOrdinaryWhileGarbageIsCollected(t *testing.T) {
	if !mayMeasureInRealtime() {
		t.Fatal("root may have real-time threads")
	}
	policy := func(tid int) uintptr {
		p, _, errno := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(tid), 0, 0)
		assert.Zero(t, errno)
		return p &^ schedResetOnFork
	}
	measures, end := make(chan int), make(chan struct{})
	go func() {
		lockMeasuringThread()
		measures <- unix.Gettid()
		<-end
	}()
	defer close(end)
	monitor := must(monitorThread())(t)
	require.NoError(t, monitorInRealtime())
	for _, tid := range []int{<-measures, monitor} {
		assert.EqualValues(t, unix.SCHED_RR, policy(tid))
		withoutRealtime(func() { assert.EqualValues(t, unix.SCHED_NORMAL, policy(tid)) })
		assert.EqualValues(t, unix.SCHED_RR, policy(tid))
	}
}
