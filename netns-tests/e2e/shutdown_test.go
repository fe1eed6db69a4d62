//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

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
