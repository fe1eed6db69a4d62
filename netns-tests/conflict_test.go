//go:build netns

package netnstests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// The address that keepvip holds is that of a keepalived of another Virtual Router, too. Whoever reads the status learns which host to look at.
func TestConflictSaysWhatAForeignKeepalivedAdvertises(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	ours, foreign := g.Lab.Nodes[0], g.Lab.Nodes[1]
	require.NoError(t, g.Start(ours))
	eventually(t, 5*time.Second, "keepvip holds the address", func() bool { return len(g.Holders()) == 1 })
	must(trial.Keepalived{}.Start(foreign, trial.Settings{Priority: 101, Interval: time.Second, Addresses: g.Addresses, VRID: 52}))(t)
	want := "sends VRRP from " + trial.NodeAddresses(g.Lab, g.Addresses[0])[1].String() + " with version 3, VRID 52, priority 101 (keepalived?)"
	said := func() string {
		return printed(t, ours, "status")
	}
	defer func() {
		if t.Failed() {
			t.Log(said())
		}
	}()
	eventually(t, 15*time.Second, "the status says "+want, func() bool { return strings.Contains(said(), "CONFLICT") && strings.Contains(said(), want) })
	eventually(t, time.Second, "the log says so, too", func() bool {
		return strings.Contains(g.Daemon(ours).Log(), "vrid=52 priority=101")
	})
}
