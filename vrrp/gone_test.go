package vrrp

import (
	"testing"
	"time"
)

func TestMachineGone(t *testing.T) {
	took := "send 100; backup>active (" + string(ReasonGone) + ")"
	runScenarios(t, []scenario{
		{
			name:  "a Backup that follows it becomes Active at once",
			steps: asBackup(step{time.Second, heard(above, 200), ""}, step{1100 * ms, Gone{Source: above}, took}),
			state: Active, deadline: 2100 * ms,
		},
		{
			name:  "another router is gone: nothing",
			steps: asBackup(step{time.Second, heard(above, 200), ""}, step{1100 * ms, Gone{Source: below}, ""}),
			state: Backup, deadline: time.Second + down,
		},
		{
			name:  "nobody is followed: nothing",
			steps: asBackup(step{time.Second, Gone{}, ""}), state: Backup, deadline: down,
		},
		{
			name: "a Grouped Backup waits for the others", change: grouped,
			steps: asBackup(step{time.Second, heard(above, 200), ""}, step{1100 * ms, Gone{Source: above}, ""}, step{1101 * ms, TakeOver{}, took}),
			state: Active, deadline: 2101 * ms,
		},
		{name: "an Active: nothing", steps: asActive(step{3700 * ms, Gone{Source: above}, ""}), state: Active, deadline: down + time.Second},
	})
}

func TestMachineAssert(t *testing.T) {
	runScenarios(t, []scenario{
		{
			name:  "an Active advertises now",
			steps: asActive(step{3700 * ms, Assert{}, "send 100"}), state: Active, deadline: 4700 * ms,
		},
		{
			name:  "not twice in a millisecond",
			steps: asActive(step{3700 * ms, Assert{}, "send 100"}, step{3700*ms + ms/2, Assert{}, ""}), state: Active, deadline: 4700 * ms,
		},
		{
			name:  "a Backup: nothing",
			steps: asBackup(step{time.Second, heard(above, 200), ""}, step{1100 * ms, Assert{}, ""}), state: Backup, deadline: time.Second + down,
		},
	})
}
