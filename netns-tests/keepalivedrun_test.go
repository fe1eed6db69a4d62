//go:build netns

package netnstests

import (
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// A keepalived.conf as it is, with a password that no file of keepvip's holds, beside a keepalived with the same.
func TestKeepalivedConfBesideKeepalived(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	other, own := g.Lab.Nodes[0], g.Lab.Nodes[1]
	router := func(priority int) trial.Router {
		return trial.Router{
			Name: "VI_1", Flavor: trial.Flavor{Version: 2, Password: "k8s-pass"},
			Settings: trial.Settings{VRID: 51, Priority: priority, Interval: time.Second, Addresses: []netip.Addr{lab.VIP4}},
		}
	}
	holds := func(n *lab.Node, why string) {
		t.Helper()
		eventually(t, 10*time.Second, why, func() bool {
			return n.Holds(lab.VIP4) && !(other.Holds(lab.VIP4) && own.Holds(lab.VIP4))
		})
	}
	_, err := trial.RunKeepalived(other, router(100))
	require.NoError(t, err)
	holds(other, "keepalived is alone")
	p, err := trial.RunKeepalivedConf(own, router(150))
	require.NoError(t, err)
	holds(own, "the higher priority preempts")
	code, err := p.Terminate(10 * time.Second)
	require.NoError(t, err)
	assert.Zero(t, code)
	holds(other, "keepvip has left")

	p, err = trial.RunUnderKeepalivedsName(own, router(150))
	require.NoError(t, err)
	holds(own, "it is back, by keepalived's command line")
	pid, err := os.ReadFile(trial.KeepalivedPID(own))
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(p.PID())+"\n", string(pid))
	_, err = trial.WriteKeepalivedConf(own, router(50))
	require.NoError(t, err)
	require.NoError(t, p.Signal(unix.SIGHUP))
	holds(other, "the priority is below keepalived's since the reload")
	assert.NotContains(t, p.Log(), "k8s-pass")
	code, err = p.Terminate(10 * time.Second)
	require.NoError(t, err)
	assert.Zero(t, code)
	assert.NoFileExists(t, trial.KeepalivedPID(own))
}
