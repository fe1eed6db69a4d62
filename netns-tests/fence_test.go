//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestHolderThatIsKilledOrStandsStillFallsSilent(t *testing.T) {
	t.Parallel()
	g := started(t, trial.Config{Addresses: dualStack()})
	for name, fault := range map[string]trial.Fault{
		"kill -9":  trial.KilledForGood,
		"SIGSTOP":  trial.Silenced("SIGSTOP", trial.BySignal, 6*time.Second),
		"debugger": trial.Silenced("ptrace", trial.ByDebugger, 2*time.Second),
		"freezer":  trial.Silenced("cgroup freezer", trial.ByFreezer, 2*time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "freezer" && !lab.HasFreezer() {
				t.Log("no cgroup freezer on this machine: nothing to see")
				return
			}
			fallsSilent(t, g, fault, name == "kill -9" || name == "SIGSTOP")
		})
	}
}

// TestShows: what holds on any machine. How long something takes is measured by cmd/bench.
func TestShows(t *testing.T) {
	t.Parallel()
	for _, s := range trial.Shows() {
		if s.Measured {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			show(t, s)
		})
	}
}

func show(t *testing.T, s trial.Show) {
	t.Helper()
	found := must(s.Run(host, false))(t)
	t.Log(found)
	assert.Empty(t, found.Broken())
}
