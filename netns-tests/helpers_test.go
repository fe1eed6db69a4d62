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

// Wide bounds at 100 ms advertisements: the Active_Down_Interval is below
// 400 ms, the rest is room for a busy machine.
const (
	takeoverBound = 800 * time.Millisecond
	twoBound      = 50 * time.Millisecond
)

func open(t *testing.T, cfg trial.Config) *trial.Group {
	t.Helper()
	return opened(t, trial.Open, calm(cfg))
}

func prepare(t *testing.T, cfg trial.Config) *trial.Group {
	t.Helper()
	return opened(t, trial.Prepare, calm(cfg))
}

// started is a group whose daemons have just been started: a fault waits until they have settled, and need not do so twice.
func started(t *testing.T, cfg trial.Config) *trial.Group {
	t.Helper()
	g := prepare(t, cfg)
	require.NoError(t, g.StartAll())
	return g
}

// opened is a group that lives as long as its test.
func opened(t *testing.T, open func(*lab.Host, trial.Config) (*trial.Group, error), cfg trial.Config) *trial.Group {
	t.Helper()
	g, err := open(host, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { finish(t, g) })
	return g
}

func finish(t *testing.T, g *trial.Group) {
	t.Helper()
	if t.Failed() {
		t.Log(g.Logs())
	}
	g.Close()
}

// measure runs a fault and prints its timeline when the test fails.
func measure(t *testing.T, g *trial.Group, fault trial.Fault) *trial.Result {
	t.Helper()
	res, err := fault(g)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			res.Report.Timeline(os.Stdout, res.FaultAt)
		}
	})
	// Bounds have room for what the machine itself may have added.
	res.Stall = max(res.Stall, res.Standstill)
	t.Logf("%s: outage %s ms, takeovers %d, two answering %s ms, standstill of the machine %s ms", res.Fault,
		lab.Milliseconds(res.Outage), res.Takeovers, lab.Milliseconds(res.Two), lab.Milliseconds(res.Stall))
	if res.LeftOut > 0 {
		notJudged(t, "%s: %s", res.Fault, res.Note)
	}
	return res
}

// stays does something after which the node that it returns is still the holder, at advertisements each 100 ms.
func stays(t *testing.T, g *trial.Group, do func() (holder *lab.Node)) {
	t.Helper()
	var holder *lab.Node
	r, err := g.Lab.Beside(func() error {
		holder = do()
		return nil
	})
	require.NoError(t, err)
	now := g.Holders()
	if stood := r.Standstill(r.Began, r.Ended); !slices.Equal(now, []*lab.Node{holder}) && stood > 200*time.Millisecond {
		notJudged(t, "the machine stood still for %s ms within a second: %s held the address, and now %s does", lab.Milliseconds(stood), holder.Label, labels(now))
		return
	}
	assert.Equal(t, []string{holder.Label}, labels(now), "the holder")
}

func labels(nodes []*lab.Node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.Label)
	}
	return out
}

// notJudged says that something has no verdict because the machine stood still. It is no failure, and must not look like a pass:
// .ci/netns names the file in which it is kept, and prints it at the end.
func notJudged(t *testing.T, format string, args ...any) {
	t.Helper()
	line := strings.ReplaceAll(t.Name()+": "+fmt.Sprintf(format, args...), "\n", "; ")
	t.Log("not judged: " + line)
	path := os.Getenv("LAB_NOT_JUDGED")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	require.NoError(t, err)
}

// calmInterval is for what does not depend on the interval: to the others a daemon that does not run for an Active_Down_Interval is a dead
// one, and this one is longer than a busy machine keeps a process waiting. promptly is for what is timed.
const calmInterval, promptly = 250 * time.Millisecond, 100 * time.Millisecond

// calm has what is not timed take its time.
func calm(cfg trial.Config) trial.Config {
	if cfg.Interval == 0 {
		cfg.Interval = calmInterval
	}
	return cfg
}

// counted is [measure] with a group of its own, for faults whose moves are counted by [moved].
func counted(t *testing.T, cfg trial.Config, fault trial.Fault) *trial.Result {
	t.Helper()
	return measure(t, started(t, cfg), fault)
}

// moved asserts how often the address has moved: what a measured standstill of the machine explains may come besides, and is said.
func moved(t *testing.T, want int, res *trial.Result) {
	t.Helper()
	if res.Explained > 0 && res.Takeovers > want {
		notJudged(t, "%d of %d moves came after an ordinary process had stood still, %s ms within a second", res.Explained, res.Takeovers, lab.Milliseconds(res.Standstill))
	}
	assert.GreaterOrEqual(t, res.Takeovers, want, "moves")
	assert.LessOrEqual(t, res.Takeovers, want+res.Explained, "moves")
	if want == 1 && res.Explained == 0 {
		assert.NotEqual(t, res.Victim, res.Taker)
	}
}

// settleFor lets real time pass: what is watched here happens in other processes.
func settleFor(d time.Duration) { <-time.After(d) }

func settled(t *testing.T, g *trial.Group) *lab.Node {
	t.Helper()
	n, err := g.Settle()
	require.NoError(t, err)
	return n
}

func hostPrefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// eventually looks often enough for every test, and less often than keepvip answers one user on its metrics listener. It looks in the
// test's own goroutine: a condition that fails the test ends it, and says where.
func eventually(t *testing.T, limit time.Duration, what string, condition func() bool) bool {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); settleFor(50 * time.Millisecond) {
		if time.Now().After(end) {
			return assert.Fail(t, "not within "+limit.String(), what)
		}
	}
	return true
}

// light asserts that no daemon has more memory than that, in bytes.
func light(t *testing.T, g *trial.Group, limit int64) {
	t.Helper()
	for _, n := range g.Lab.Nodes {
		rss, err := g.Daemon(n).RSS()
		require.NoError(t, err)
		t.Logf("%s: %.1f MiB", n.Label, float64(rss)/(1<<20))
		assert.LessOrEqual(t, rss, limit)
	}
}

func dualStack() []netip.Addr { return []netip.Addr{lab.VIP4, lab.VIP6} }
