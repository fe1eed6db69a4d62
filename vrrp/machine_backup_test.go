package vrrp

import (
	"testing"
	"time"
)

func TestMachineBackupReceivesPriorityZero(t *testing.T) {
	runScenarios(t, []scenario{
		{
			name:  "from nobody it follows",
			steps: asBackup(step{time.Second, heard(above, 0), ""}), state: Backup, deadline: down,
		},
		{
			name:  "from another than it follows",
			steps: asBackup(step{time.Second, heard(above, 200), ""}, step{2 * time.Second, heard(below, 0), ""}),
			state: Backup, deadline: time.Second + down,
		},
		{
			name: "from one whose lower priority it discards",
			steps: asBackup(
				step{time.Second, heard(above, 200), ""},
				step{1500 * ms, heard(below, 50), ""},
				step{2 * time.Second, heard(below, 0), ""},
			),
			state: Backup, deadline: time.Second + down,
		},
		{
			name: "a repetition does not postpone the takeover",
			steps: asBackup(
				step{time.Second, heard(above, 200), ""},
				step{2 * time.Second, heard(above, 0), ""},
				step{2500 * ms, heard(above, 0), ""},
			),
			state: Backup, deadline: 2*time.Second + skew,
		},
		{
			name: "another Active in the meantime is followed",
			steps: asBackup(
				step{time.Second, heard(above, 200), ""},
				step{2 * time.Second, heard(above, 0), ""},
				step{2400 * ms, heard(below, 150), ""},
			),
			state: Backup, deadline: 2400*ms + down,
		},
	})
}

func TestMachineTieBreakDelay(t *testing.T) {
	tieBreakDelay := func(d time.Duration) step { return step{0, SetTieBreakDelay{d}, ""} }
	runScenarios(t, []scenario{
		{
			name:  "applies to the timer of Startup",
			steps: []step{tieBreakDelay(50 * ms), start()}, state: Backup, deadline: down + 50*ms,
		},
		{
			name:  "moves a running timer",
			steps: asBackup(step{time.Second, heard(above, 100), ""}, step{2 * time.Second, SetTieBreakDelay{50 * ms}, ""}),
			state: Backup, deadline: time.Second + down + 50*ms,
		},
		{
			name:  "applies after priority 0",
			steps: []step{tieBreakDelay(50 * ms), start(), {time.Second, heard(above, 100), ""}, {2 * time.Second, heard(above, 0), ""}},
			state: Backup, deadline: 2*time.Second + skew + 50*ms,
		},
		{
			name:  "is at most an eighth of the interval",
			steps: asBackup(step{time.Second, SetTieBreakDelay{time.Hour}, ""}), state: Backup, deadline: down + 125*ms,
		},
		{
			name:  "is at most an eighth of the interval that was adopted",
			steps: []step{tieBreakDelay(time.Hour), start(), {time.Second, heard(above, 200).every(400 * ms), ""}},
			state: Backup, deadline: time.Second + 1443750*time.Microsecond + 50*ms,
		},
		{
			name:  "is never taken away",
			steps: asBackup(step{time.Second, SetTieBreakDelay{-50 * ms}, ""}), state: Backup, deadline: down,
		},
		{
			name:  "leaves an Active alone",
			steps: asActive(step{4 * time.Second, SetTieBreakDelay{50 * ms}, ""}), state: Active, deadline: down + time.Second,
		},
	})
}

func TestMachinePreemptDelay(t *testing.T) {
	delay := func(c *Config) { c.PreemptDelay = 5 * time.Second }
	runScenarios(t, []scenario{
		{
			name: "lower priority is followed while it runs", change: delay,
			steps: asBackup(step{time.Second, heard(above, 50), ""}, step{5900 * ms, heard(above, 50), ""}),
			state: Backup, deadline: 5900*ms + down,
		},
		{
			name: "lower priority is discarded when it is over", change: delay,
			steps: asBackup(
				step{time.Second, heard(above, 50), ""},
				step{5900 * ms, heard(above, 50), ""},
				step{6 * time.Second, heard(above, 50), ""},
				step{5900*ms + down, Expired{}, "send 100; backup>active (the Active has a lower priority)"},
			),
			state: Active, deadline: 5900*ms + down + time.Second,
		},
		{
			name: "equal priority starts it anew", change: delay,
			steps: asBackup(
				step{time.Second, heard(above, 50), ""},
				step{2 * time.Second, heard(above, 100), ""},
				step{3 * time.Second, heard(above, 50), ""},
				step{7900 * ms, heard(above, 50), ""},
			),
			state: Backup, deadline: 7900*ms + down,
		},
		{
			name:   "without Preempt_Mode it has no meaning",
			change: func(c *Config) { c.PreemptDelay, c.Preempt = time.Second, false },
			steps:  asBackup(step{time.Second, heard(above, 50), ""}, step{3 * time.Second, heard(above, 50), ""}),
			state:  Backup, deadline: 3*time.Second + down,
		},
	})
}

func TestMachineStartupDelay(t *testing.T) {
	delay := func(c *Config) { c.StartupDelay = 10 * time.Second }
	runScenarios(t, []scenario{
		{name: "the timer starts after it", change: delay, steps: asBackup(), state: Backup, deadline: 10*time.Second + down},
		{
			name: "an advertisement within it does not end it", change: delay,
			steps: asBackup(step{time.Second, heard(above, 200), ""}), state: Backup, deadline: 10*time.Second + down,
		},
		{
			name: "nor does priority 0", change: delay,
			steps: asBackup(step{time.Second, heard(above, 200), ""}, step{2 * time.Second, heard(above, 0), ""}),
			state: Backup, deadline: 10*time.Second + skew,
		},
		{
			name: "an advertisement after it", change: delay,
			steps: asBackup(step{11 * time.Second, heard(above, 200), ""}), state: Backup, deadline: 11*time.Second + down,
		},
		{
			name:   "the owner has none",
			change: func(c *Config) { owner(c); delay(c) },
			steps:  []step{{0, Startup{}, "send 255; initialize>active (" + string(ReasonOwner) + ")"}},
			state:  Active, deadline: time.Second,
		},
	})
}

func TestMachineDownTimerAdverts(t *testing.T) {
	scenario{
		change: func(c *Config) { c.DownTimerAdverts = 5 }, steps: asBackup(), state: Backup, deadline: 2*time.Second + down,
	}.run(t)
}

// A Backup's timer counts from when the kernel received the packet, within bounds.
func TestMachineReceivedAge(t *testing.T) {
	aged := func(d time.Duration) Received {
		r := heard(above, 200)
		r.Age = d
		return r
	}
	runScenarios(t, []scenario{
		{
			name: "is taken off", steps: asBackup(step{2 * time.Second, aged(300 * ms), ""}),
			state: Backup, deadline: 1700*ms + down,
		},
		{
			name: "is at most one interval", steps: asBackup(step{8 * time.Second, aged(5 * time.Second), ""}),
			state: Backup, deadline: 7*time.Second + down,
		},
		{
			name: "negative is nothing", steps: asBackup(step{2 * time.Second, aged(-time.Hour), ""}),
			state: Backup, deadline: 2*time.Second + down,
		},
		{
			name: "never moves the start back", steps: asBackup(step{2 * time.Second, heard(above, 200), ""}, step{2100 * ms, aged(900 * ms), ""}),
			state: Backup, deadline: 2*time.Second + down,
		},
	})
}

// A Backup that was frozen cannot know whether the Active is dead or its own packets were lost.
func TestMachineBackupFrozen(t *testing.T) {
	const late = down + 5*time.Second
	runScenarios(t, []scenario{
		{
			name:  "one interval late: takes over",
			steps: asBackup(step{down + time.Second, Expired{}, tookOver}), state: Active, deadline: down + 2*time.Second,
		},
		{
			name:  "later: listens for one interval and Skew_Time",
			steps: asBackup(step{late, Expired{}, ""}), state: Backup, deadline: late + time.Second + skew,
		},
		{
			name:  "then takes over",
			steps: asBackup(step{late, Expired{}, ""}, step{late + time.Second + skew, Expired{}, tookOver}),
			state: Active, deadline: late + 2*time.Second + skew,
		},
		{
			name:  "only once, even if it is late again",
			steps: asBackup(step{late, Expired{}, ""}, step{2 * late, Expired{}, tookOver}), state: Active, deadline: 2*late + time.Second,
		},
		{
			name:  "an Active that is heard meanwhile is followed",
			steps: asBackup(step{late, Expired{}, ""}, step{late + 900*ms, heard(above, 100), ""}),
			state: Backup, deadline: late + 900*ms + down,
		},
		{
			name: "after priority 0 as well",
			steps: asBackup(
				step{time.Second, heard(above, 200), ""},
				step{2 * time.Second, heard(above, 0), ""},
				step{late, Expired{}, ""},
			),
			state: Backup, deadline: late + time.Second + skew,
		},
	})
}
