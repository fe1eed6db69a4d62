//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// netAdminAndRaw is CAP_NET_ADMIN (12) and CAP_NET_RAW (13), and nothing else.
const netAdminAndRaw = "0000000000003000"

func TestPodHasTwoCapabilitiesAndNoCredentials(t *testing.T) {
	c := formed(t)
	for _, m := range c.machines {
		pids := m.pids("keepvip")
		require.Len(t, pids, 1)
		text := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pids[0])))(t)
		for field, want := range map[string]string{
			"CapPrm": netAdminAndRaw, "CapEff": netAdminAndRaw, "CapBnd": netAdminAndRaw, "CapInh": "0000000000000000", "CapAmb": "0000000000000000",
			"NoNewPrivs": "1", "Seccomp": "2",
		} {
			assert.Contains(t, string(text), field+":\t"+want+"\n", m.Label)
		}
		mounts := must(os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pids[0])))(t)
		assert.NotContains(t, string(mounts), "kubernetes", "a directory of credentials, or a token, on %s", m.Label)
		assert.NotContains(t, string(mounts), "serviceaccount", m.Label)
	}
}

func TestKubeletRestartMovesNothing(t *testing.T) {
	c := formed(t)
	s := c.watch(t, "kubelet restart", 0, 10*time.Second, func(m *machine) error {
		before := m.pids("kubelet")
		err := m.signal("kubelet", unix.SIGTERM)
		for end := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(end); pause(50 * time.Millisecond) {
			if now := m.pids("kubelet"); len(now) == 1 && !same(now, before) {
				return nil
			}
		}
		return fmt.Errorf("the kubelet did not start anew: %v", err)
	})
	assert.Zero(t, s.moves())
	// The kubelet reads everything anew when it starts, on a processor that it shares with the apiservers.
	assert.LessOrEqual(t, s.longest(), 50*time.Millisecond+s.stalled())
}

// The kubelet starts a container anew at once when it dies for the first time.
// The address passes to another machine, or is adopted by the new process; it
// does not move twice.
func TestContainerRestart(t *testing.T) {
	c := formed(t)
	s := c.watch(t, "keepvip SIGKILL", 0, 10*time.Second, signalled("keepvip", unix.SIGKILL))
	assert.LessOrEqual(t, s.moves(), 1)
	assert.LessOrEqual(t, s.longest(), time.Second+s.stalled())
	holder := must(c.settle(2 * time.Minute))(t)
	assert.Equal(t, []*machine{holder}, c.holders())
}

func TestManifestRemoved(t *testing.T) {
	c := formed(t)
	s := c.watch(t, "manifest removed", 0, 10*time.Second, func(m *machine) error { return os.Remove(m.file(manifestPath)) })
	s.movedOnce(t)
	assert.LessOrEqual(t, s.longest(), 200*time.Millisecond+s.stalled())
	assert.False(t, s.holder.Holds(lab.VIP4))
	require.NoError(t, c.drop(s.holder))
	must(c.settle(2 * time.Minute))(t)
}

// Kubelets and controllers keep connections through the address open for good: those are reset at the end of the time, and the
// exit status is 4. A request, which takes a real apiserver some 10 ms, ends before that.
func TestDrain(t *testing.T) {
	c := formed(t)
	s := c.watch(t, "keepvip drain --wait", 0, 5*time.Second, func(m *machine) error {
		_, err := m.inPod("drain", "--wait", "--timeout", "3s")
		var status *exec.ExitError
		if errors.As(err, &status) && status.ExitCode() == 4 {
			return nil
		}
		return err
	})
	s.movedOnce(t)
	assert.Zero(t, s.https.Lost, "requests failed")
	st := must(s.holder.status())(t)
	assert.Equal(t, "drained", st.Desired)
	out, err := s.holder.inPod("resume")
	require.NoError(t, err, out)
}
