//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
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

func TestKubeadmInitAndJoin(t *testing.T) {
	c := formed(t)
	t.Logf("kubeadm init took %v, joins %v", c.initTook.Round(10*time.Millisecond), c.joinsTook)
	assert.Less(t, c.initTook, time.Minute)
	assert.True(t, strings.HasPrefix(c.join, "join 10.77.0.100:6443 "), c.join)
	for _, m := range c.machines {
		after := must(os.ReadFile(m.file(manifestPath)))(t)
		assert.Equal(t, string(c.manifest), string(after), m.Label)
		for _, name := range []string{"admin.conf", "super-admin.conf"} {
			text, err := os.ReadFile(m.file("etc/kubernetes/" + name))
			if os.IsNotExist(err) && name == "super-admin.conf" && m != c.machines[0] {
				continue // kubeadm makes one only at init
			}
			require.NoError(t, err)
			assert.Contains(t, string(text), "server: https://10.77.0.100:6443\n", "%s of %s", name, m.Label)
		}
	}
	c.podsReady(t)
}

func TestKubeadmTakesWhatPrintKubeadmPrints(t *testing.T) {
	c := formed(t)
	out, err := c.machines[0].run(c.tools.bin+"/kubeadm", "config", "validate", "--config", "/"+kubeadmPath)
	require.NoError(t, err, out)
	assert.Contains(t, string(c.config), "controlPlaneEndpoint: ")
}

// podsReady waits until the five static pods of each machine are ready.
func (c *cluster) podsReady(t *testing.T) {
	t.Helper()
	var last string
	require.Eventually(t, func() bool {
		out, err := c.kubectl("-n", "kube-system", "get", "pods", "--no-headers", "-o",
			`custom-columns=NAME:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status`)
		last = out
		return err == nil && strings.Count(out, "True") == 15 && strings.Count(out, "\n") == 15
	}, 3*time.Minute, time.Second, "15 pods are ready")
	t.Log(last)
}

// What kube-vip's own end-to-end tests expect of a control plane, with bounds
// that are ours: they allow 20 s, and an answer of 500.

// A machine of a healthy cluster is deleted from it and killed.
func TestHolderDies(t *testing.T) {
	c := formed(t)
	s := c.watch(t, "power-off of the holder", 0, 10*time.Second, (*machine).powerOff)
	s.movedOnce(t)
	// One request in flight waits for its own timeout of a second.
	assert.LessOrEqual(t, s.longest(), 2500*time.Millisecond+s.stalled())
	require.NoError(t, s.holder.powerOn())
	must(c.settle(4 * time.Minute))(t)
}

// The apiserver's static pod is taken away for a while, as an upgrade does: the
// address leaves, and does not come back by itself among equals.
func TestAPIServerManifestRemoved(t *testing.T) {
	c := formed(t)
	var text []byte
	s := c.watch(t, "apiserver's manifest removed", 0, 8*time.Second, func(m *machine) (err error) {
		if text, err = os.ReadFile(m.file(apiserverPath)); err != nil {
			return err
		}
		return os.Remove(m.file(apiserverPath))
	})
	require.NotEmpty(t, text)
	require.NoError(t, os.WriteFile(s.holder.file(apiserverPath), text, 0o600))
	s.movedOnce(t)
	assert.LessOrEqual(t, s.longest(), 500*time.Millisecond+s.stalled())
	taker := c.holders()
	must(c.settle(4 * time.Minute))(t)
	assert.Equal(t, taker, c.holders(), "it came back to an equal")
}

// kubeadm 1.36.0 goes through the address during init, as all from 1.29 on did:
// without it, init fails after a minute. It gets a machine of its own.
func TestKubeadmThatNeedsTheAddressDuringInit(t *testing.T) {
	if shared.cluster != nil {
		shared.cluster.close()
		shared.cluster, shared.formed, shared.tried = nil, false, false
	}
	c := must(newCluster(shared.host, shared.tools, "kubeadm-strict"))(t)
	t.Cleanup(c.close)
	require.NoError(t, c.init())
	t.Logf("kubeadm init took %v", c.initTook.Round(10*time.Millisecond))
	assert.Less(t, c.initTook, time.Minute)
	node := must(c.lab.Ask(c.lab.Client.Namespace, lab.VIP4, "/readyz", 2*time.Second))(t)
	assert.Equal(t, 1, node)
}
