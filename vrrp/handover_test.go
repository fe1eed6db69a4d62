package vrrp

import (
	"testing"
	"time"
)

func TestMachinePassOn(t *testing.T) {
	passed := "active>backup (" + string(ReasonPassedOn) + ")"
	runScenarios(t, []scenario{
		{
			name:  "becomes Backup silently, for one Active_Down_Interval",
			steps: asActive(step{4 * time.Second, PassOn{}, passed}), state: Backup, deadline: 4*time.Second + down,
		},
		{
			name: "follows the one that takes over",
			steps: asActive(
				step{4 * time.Second, PassOn{}, passed},
				step{4*time.Second + 5*ms, heard(below, 100), ""},
			),
			state: Backup, deadline: 4*time.Second + 5*ms + down,
		},
		{
			name:  "takes them back when nobody does",
			steps: asActive(step{4 * time.Second, PassOn{}, passed}, step{4*time.Second + down, Expired{}, tookOver}),
			state: Active, deadline: 5*time.Second + down,
		},
		{
			name:  "in Backup: nothing",
			steps: asBackup(step{time.Second, heard(above, 200), ""}, step{1500 * ms, PassOn{}, ""}),
			state: Backup, deadline: time.Second + down,
		},
		{
			name:  "too late: has lost its right anyway",
			steps: asActive(step{2*down + ms, PassOn{}, "active>backup (" + string(ReasonFrozen) + ")"}), state: Backup, deadline: 3*down + ms,
		},
	})
}

func TestMachineGranted(t *testing.T) {
	took := "send 100; backup>active (" + string(ReasonGranted) + ")"
	runScenarios(t, []scenario{
		{
			name:  "a Backup becomes Active at once",
			steps: asBackup(step{time.Second, heard(above, 1), ""}, step{1100 * ms, Granted{}, took}),
			state: Active, deadline: 2100 * ms,
		},
		{name: "an Active: nothing", steps: asActive(step{3700 * ms, Granted{}, ""}), state: Active, deadline: down + time.Second},
		{name: "in Initialize: nothing", steps: []step{{0, Granted{}, ""}}, state: Initialize},
	})
}

func TestMachineBackupDefers(t *testing.T) {
	deferred := func() Received { r := heard(above, 1); r.Deferred = true; return r }
	runScenarios(t, []scenario{
		{
			name: "lower priority is followed as long as it says so",
			steps: asBackup(
				step{time.Second, deferred(), ""},
				step{2 * time.Second, deferred(), ""},
				step{3 * time.Second, heard(above, 1), ""},
				step{2*time.Second + down, Expired{}, "send 100; backup>active (the Active has a lower priority)"},
			),
			state: Active, deadline: 3*time.Second + down,
		},
		{
			name: "one that gives up is not",
			steps: asBackup(
				step{time.Second, deferred(), ""},
				step{2 * time.Second, func() Received { r := heard(above, 0); r.Deferred = true; return r }(), ""},
			),
			state: Backup, deadline: 2*time.Second + skew,
		},
		{
			name: "PreemptDelay runs meanwhile", change: func(c *Config) { c.PreemptDelay = 5 * time.Second },
			steps: asBackup(
				step{time.Second, deferred(), ""},
				step{3 * time.Second, deferred(), ""},
				step{5 * time.Second, deferred(), ""},
				step{6 * time.Second, heard(above, 1), ""},
			),
			state: Backup, deadline: 5*time.Second + down,
		},
	})
}
