//go:build netns

package netnstests

import (
	"fmt"
	"slices"
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

// FRR has the address on an interface of its own, also as a Backup, and its host answers questions for it where arp_ignore is 0. status, explain and doctor name
// that host and what cures it; with it nothing is wrong any more.
func TestBackupOfFRRThatAnswersForTheAddressIsNamedWithWhatCuresIt(t *testing.T) {
	t.Parallel() // seconds of questions
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	other, ours := g.Lab.Nodes[0], g.Lab.Nodes[1]
	router := trial.Router{Name: "apiserver", Flavor: trial.Flavor{Version: 3}}
	router.Settings = trial.Settings{Priority: 90, Interval: 100 * time.Millisecond, Addresses: g.Addresses, VRID: 51}
	must(trial.RunFRR(other, router))(t)
	eventually(t, 20*time.Second, "FRR serves", func() bool { return g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, time.Second) })
	g.Settings[1].VRID = router.VRID
	require.NoError(t, g.Start(ours))
	eventually(t, 20*time.Second, "keepvip takes over", shows(ours, func(v trial.VIPStatus) bool { return v.State == "active" }))

	said := func() string { return printed(t, ours, "status") }
	named := "that is the host of " + other.Address.String()
	require.True(t, eventually(t, 60*time.Second, "the status says so", func() bool { return strings.Contains(said(), named) }), said())
	for _, command := range [][]string{{"status"}, {"explain"}, {"doctor", "--vip", lab.VIP4.String(), "--vrid", "51"}} {
		want := []string{"KV371", other.Address.String(), "net.ipv4.conf.IFACE.arp_ignore=1"}
		if command[0] == "status" {
			want = want[:2]
		}
		eventually(t, trial.SettleLimit, fmt.Sprint(command), func() bool { // while FRR is the holder it answers rightly
			text := printed(t, ours, command...)
			return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(text, w) })
		})
	}

	must(other.Run("sysctl", "-qw", "net.ipv4.conf."+other.NICs[0].Name+".arp_ignore=1"))(t)
	require.True(t, eventually(t, 60*time.Second, "nothing is wrong any more", func() bool { return !strings.Contains(said(), "CONFLICT") }), said())
	eventually(t, trial.SettleLimit, "keepvip has the address", func() bool { return isActive(ours) })
}
