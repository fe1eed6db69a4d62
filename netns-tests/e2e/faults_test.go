//go:build e2e

package e2e

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// seen is what the client went through: GET /readyz by way of the address every
// 20 ms, each over a new connection.
type seen struct {
	report *lab.Report
	https  lab.StreamReport
	holder *machine // before the fault
	at     time.Duration
}

// watch settles the cluster, breaks something, and measures for the given time
// after it; with retry, a request that fails is made once more after that time.
func (c *cluster) watch(t *testing.T, name string, retry, length time.Duration, breaks func(holder *machine) error) seen {
	t.Helper()
	holder := must(c.settle(4 * time.Minute))(t)
	m, err := c.lab.Measure(lab.MeasureConfig{
		Name: name, Interval: 10 * time.Millisecond, DirectEvery: 20 * time.Millisecond,
		HTTPS: true, HTTPSInterval: 20 * time.Millisecond, HTTPSPath: "/readyz", HTTPSRetry: retry,
	})
	require.NoError(t, err)
	pause(2 * time.Second)
	at := m.Mark("%s on %s", name, holder.Label)
	err = breaks(holder)
	pause(length)
	r := m.Stop()
	require.NoError(t, err)
	s := seen{report: r, https: r.HTTPS[0], holder: holder, at: at}
	t.Logf("%s: requests failed for %v (in all %v, %d of %d), moves %d, load %.1f, machine stood still for %v", name,
		s.longest().Round(time.Millisecond), s.https.Total.Round(time.Millisecond), s.https.Lost, s.https.Sent, s.moves(), r.Load,
		r.StoodStill().Round(time.Millisecond))
	t.Cleanup(func() {
		if t.Failed() {
			r.Timeline(os.Stdout, at)
		}
	})
	return s
}

// longest is for how long requests failed in a row, at most, from the fault on.
func (s seen) longest() time.Duration { return s.https.LongestAfter(s.at) }

// moves counts how often a machine bound the address from the fault on.
func (s seen) moves() int { return s.report.Takeovers(lab.VIP4, s.at) }

// stalled is what the machine's own standing still adds to a bound.
func (s seen) stalled() time.Duration { return s.report.StoodStill() }

func (s seen) movedOnce(t *testing.T) {
	t.Helper()
	assert.Equal(t, 1, s.moves())
	assert.NotEqual(t, s.holder.ID, s.report.Taker(lab.VIP4, s.at), "it moved to where it was")
}

func signalled(program string, sig unix.Signal) func(*machine) error {
	return func(m *machine) error { return m.signal(program, sig) }
}

func TestAPIServerKilled(t *testing.T) {
	c := formed(t)
	s := c.watch(t, "apiserver SIGKILL", 0, 6*time.Second, signalled("kube-apiserver", unix.SIGKILL))
	s.movedOnce(t)
	assert.LessOrEqual(t, s.longest(), 500*time.Millisecond+s.stalled())
}

func TestAPIServerTerminated(t *testing.T) {
	c := formed(t)
	s := c.watch(t, "apiserver SIGTERM", 0, 6*time.Second, signalled("kube-apiserver", unix.SIGTERM))
	s.movedOnce(t)
	assert.LessOrEqual(t, s.longest(), 200*time.Millisecond+s.stalled())
}

func TestAPIServerStandsStill(t *testing.T) {
	c := formed(t)
	s := c.watch(t, "apiserver SIGSTOP", 0, 8*time.Second, signalled("kube-apiserver", unix.SIGSTOP))
	require.NoError(t, s.holder.signal("kube-apiserver", unix.SIGCONT))
	s.movedOnce(t)
	assert.LessOrEqual(t, s.longest(), 2700*time.Millisecond+s.stalled())
}

// etcd gives no answer anywhere: nobody is better than the holder.
func TestEtcdStallsEverywhere(t *testing.T) {
	c := formed(t)
	c.calm(t, 5*time.Minute)
	back := make([]time.Duration, len(c.machines))
	var resumed sync.WaitGroup
	s := c.watch(t, "etcd SIGSTOP everywhere for 14 s", 0, 12*time.Second, func(*machine) error {
		for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGCONT} {
			for _, m := range c.machines {
				if err := m.signal("etcd", sig); err != nil {
					return err
				}
			}
			if sig == unix.SIGSTOP {
				pause(14 * time.Second)
			}
		}
		for i, m := range c.machines {
			resumed.Go(func() { back[i] = c.readyAfter(m, 12*time.Second) })
		}
		return nil
	})
	resumed.Wait()
	t.Logf("the apiservers were ready %v after etcd went on", back)
	assert.Zero(t, s.moves(), "the address moved")
	assert.Equal(t, []*machine{s.holder}, c.holders())
}

// calm waits until no keepvip remembers that its apiserver has become unhealthy: one that fell in the tests before, a minute ago, would
// be damped, and another node better than it.
func (c *cluster) calm(t *testing.T, limit time.Duration) {
	t.Helper()
	for end := time.Now().Add(limit); ; pause(time.Second) {
		var flapped []string
		for _, m := range c.machines {
			s, err := m.status()
			if err != nil || len(s.Checks) != 1 || s.Checks[0].State != "healthy" || s.Checks[0].Falls > 0 {
				flapped = append(flapped, m.Label)
			}
		}
		if len(flapped) == 0 {
			return
		}
		require.True(t, time.Now().Before(end), "not calm within %v: %v", limit, flapped)
	}
}

// readyAfter is how long it takes until the machine's apiserver is ready; limit if it does not become so.
func (c *cluster) readyAfter(m *machine, limit time.Duration) time.Duration {
	began := time.Now()
	for end := began.Add(limit); time.Now().Before(end); pause(100 * time.Millisecond) {
		if c.ready(m) {
			return time.Since(began).Round(10 * time.Millisecond)
		}
	}
	return limit
}

func TestEtcdStopsOnTheHolder(t *testing.T) {
	c := formed(t)
	s := c.watch(t, "etcd SIGSTOP on the holder", 0, 15*time.Second, signalled("etcd", unix.SIGSTOP))
	require.NoError(t, s.holder.signal("etcd", unix.SIGCONT))
	s.movedOnce(t)
}

// must is what a step returns, which is required not to fail: must(n.Addresses())(t).
func must[T any](got T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return got
	}
}
