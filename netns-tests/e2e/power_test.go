//go:build e2e

package e2e

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Nothing that keepvip needs is behind the address that it keeps.
func TestAllMachinesPoweredOffAndOn(t *testing.T) {
	c := formed(t)
	must(c.settle(4 * time.Minute))(t)
	c.forAll(t, (*machine).powerOff)
	c.forAll(t, (*machine).powerOn)

	healthy, answered := c.firsts(5 * time.Minute)
	require.NotZero(t, healthy, "no apiserver became ready: %s", c.describe())
	require.NotZero(t, answered, "the address does not answer: %s", c.describe())
	t.Logf("all machines off and on: first apiserver ready %v after the boot, the address answers %v later",
		healthy.Round(10*time.Millisecond), (answered - healthy).Round(time.Millisecond))
	assert.Less(t, answered-healthy, 5*time.Second)
	must(c.settle(4 * time.Minute))(t)
	c.podsReady(t)
}

// forAll does something with all machines at once.
func (c *cluster) forAll(t *testing.T, do func(*machine) error) {
	t.Helper()
	errs := make([]error, len(c.machines))
	var wait sync.WaitGroup
	for i, m := range c.machines {
		wait.Go(func() { errs[i] = do(m) })
	}
	wait.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// firsts returns when, from now on, an apiserver was first ready at its machine's
// own address, and when one first was by way of the virtual address; zero for never.
func (c *cluster) firsts(limit time.Duration) (healthy, answered time.Duration) {
	began := time.Now()
	var mu sync.Mutex
	var wait sync.WaitGroup
	done := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return answered != 0
	}
	poll := func(ready func() error, first *time.Duration) {
		for !done() && time.Since(began) < limit {
			sent := time.Since(began)
			if ready() == nil {
				mu.Lock()
				if *first == 0 {
					*first = sent
				}
				mu.Unlock()
			}
			pause(20 * time.Millisecond)
		}
	}
	for _, m := range c.machines {
		wait.Go(func() {
			poll(func() error { return try.Err(c.lab.Ask(c.lab.Client.Namespace, m.Address, "/readyz", time.Second)) }, &healthy)
		})
	}
	wait.Go(func() {
		poll(func() error { return try.Err(c.lab.Ask(c.lab.Client.Namespace, lab.VIP4, "/readyz", time.Second)) }, &answered)
	})
	wait.Wait()
	return healthy, answered
}

const apiserverPath = "etc/kubernetes/manifests/kube-apiserver.yaml"

// With a shutdown delay, the apiserver says by /readyz that it will go, and serves
// everything else until then. keepvip hears it at its next probe, 300 ms later at
// most and a tenth; the same question after that is answered by another machine.
func TestAPIServerTerminatedWithDelay(t *testing.T) {
	c := formed(t)
	holder := must(c.settle(4 * time.Minute))(t)
	c.delayShutdown(t, holder)
	// The address has moved away while the apiserver was started anew.
	c.handOver(t, holder)
	s := c.watch(t, "apiserver SIGTERM with --shutdown-delay-duration=5s", 500*time.Millisecond, 9*time.Second, signalled("kube-apiserver", unix.SIGTERM))
	require.Equal(t, holder, s.holder)
	s.movedOnce(t)
	assert.Zero(t, s.https.Twice, "requests failed twice")
}

// delayShutdown changes the static pod as people do, and puts it back after the test.
func (c *cluster) delayShutdown(t *testing.T, m *machine) {
	t.Helper()
	path := m.file(apiserverPath)
	text := must(os.ReadFile(path))(t)
	const flag = "    - --secure-port=6443\n"
	require.Contains(t, string(text), flag)
	before := m.pids("kube-apiserver")
	change := func(to string) {
		require.NoError(t, os.WriteFile(path, []byte(to), 0o600))
		require.Eventually(t, func() bool {
			now := m.pids("kube-apiserver")
			return len(now) == 1 && !same(now, before) && c.ready(m)
		}, 2*time.Minute, 200*time.Millisecond, "the changed apiserver is ready")
		before = m.pids("kube-apiserver")
	}
	change(strings.Replace(string(text), flag, flag+"    - --shutdown-delay-duration=5s\n", 1))
	t.Cleanup(func() { change(string(text)) })
}

func same(a, b []int) bool { return len(a) == len(b) && (len(a) == 0 || a[0] == b[0]) }

// handOver brings the address to a machine.
func (c *cluster) handOver(t *testing.T, to *machine) {
	t.Helper()
	require.Eventually(t, func() bool {
		holder, err := c.settle(2 * time.Minute)
		if err != nil || holder == to {
			return err == nil
		}
		if _, err = holder.inPod("handover", "--to", to.Label); err != nil {
			t.Log(err)
		}
		return false
	}, 4*time.Minute, time.Second, "the address is handed over")
}

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
