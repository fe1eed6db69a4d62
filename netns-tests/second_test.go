//go:build netns

package netnstests

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestSecondKeepvipIsRefused(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := open(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := settled(t, g)
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
	assert.Equal(t, before, must(n.Addresses())(t))
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
