//go:build netns

package netnstests

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

const fileHead = "apiVersion: keepvip/v1\nkind: Config\n"

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	openKey := must(n.WriteFile("open.key", strings.Repeat("ab", 32)+"\n", 0o644))(t)
	own := n.Address.String()
	before := must(n.State())(t)
	for _, c := range []struct {
		name string
		args []string
		want []string // in the one line of the error
	}{
		{"address in no local subnet", []string{"--vip", "192.0.2.10", "--check", "none"}, []string{"192.0.2.10", "interface"}},
		{"the node's own address", []string{"--vip", own, "--check", "none"}, []string{own + " is this node's own address on eth0: choose one that no host has"}},
		{"world-readable key file", []string{"--vip", "10.77.0.100", "--key-file", openKey}, []string{openKey}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := must(trial.Keepvip{}.Run(n, c.args...))(t)
			code, err := p.Wait(5 * time.Second)
			require.NoError(t, err, p.Log())
			after := must(n.State())(t)

			assert.Equal(t, 2, code, "exit status")
			assert.Empty(t, p.Stdout())
			message := strings.TrimSuffix(p.Stderr(), "\n")
			assert.NotEmpty(t, message)
			assert.NotContains(t, message, "\n", "more than one line")
			for _, want := range c.want {
				assert.Contains(t, message, want)
			}
			assert.Equal(t, before, after, "the host was changed")
		})
	}
}

func TestConfigValidateJudgesAddressesByTheNetworksOfThisHost(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	for address, want := range map[string]int{
		"10.77.0.100": 0, n.Address.String(): 2, "10.77.0.255": 2, "10.77.0.0": 2, "fd77::": 2, n.Addr6.String(): 2,
		"192.0.2.10": 0, // another node's, as far as this one can know
	} {
		p, code := mustTwo(trial.Keepvip{}.Command(n, "config", "validate", "--vip", address))(t)
		assert.Equal(t, want, code, "%s: %s", address, p.Stderr())
	}
}

func TestSecondKeepvipIsRefused(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g, n := openHeld(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	other := []string{"--vip", lab.VIP4.String(), "--check", "none", "--socket", n.Path("run/other.sock"), "--state-dir", n.Path("other")}
	before := must(n.Addresses())(t)

	p := must(trial.Keepvip{}.Run(n, other...))(t)
	code, err := p.Wait(6 * time.Second)
	require.NoError(t, err, p.Log())
	assert.Equal(t, 1, code)
	assert.Contains(t, p.Stderr(), fmt.Sprintf("(process %d, control socket %s)", g.Daemon(n).PID(), trial.Socket(n)))
	assert.Contains(t, p.Stderr(), "stop it first")

	for _, socket := range []string{n.Path("run/other.sock"), trial.Socket(n)} {
		p, code := mustTwo(trial.Keepvip{}.Command(n, "cleanup", "--socket", socket))(t)
		assert.Equal(t, 1, code)
		assert.Empty(t, p.Stdout())
		assert.Contains(t, p.Stderr(), "stop it first")
	}
	eventually(t, trial.SettleLimit, "the addresses are those from before", func() bool { return assert.ObjectsAreEqual(before, must(n.Addresses())(t)) })
	s := statusOf(t, n)
	assert.True(t, s.VIPs[0].Fence.Standing)
	assert.Zero(t, s.VIPs[0].Fence.Repairs)

	require.NoError(t, g.Daemon(n).Kill9())
	p = must(trial.Keepvip{}.Run(n, other...))(t)
	eventually(t, 5*time.Second, "the lock is gone with the process that had it", func() bool {
		_, code, err := trial.Keepvip{}.Command(n, "status", "--socket", n.Path("run/other.sock"))
		return err == nil && code == 0
	})
	must(p.Terminate(5 * time.Second))(t)
}
