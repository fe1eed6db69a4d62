package vrrp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestMachineIgnoredAdvertisementTouchesNoTimer(t *testing.T) {
	change := func(f func(*Received)) Received {
		r := heard(above, 200)
		f(&r)
		return r
	}
	ignored := map[string]Received{
		"version 2":               change(func(r *Received) { r.Advertisement.Version = 2 }),
		"another VRID":            change(func(r *Received) { r.Advertisement.VRID = 52 }),
		"another family":          change(func(r *Received) { r.Source = addr("fe80::1") }),
		"interval 0":              change(func(r *Received) { r.Advertisement.Interval = 0 }),
		"our own, looped back":    change(func(r *Received) { r.Source = node1 }),
		"our own with priority 0": change(func(r *Received) { r.Source, r.Advertisement.Priority = node1, 0 }),
	}
	for name, r := range ignored {
		t.Run(name, func(t *testing.T) {
			scenario{steps: asBackup(step{time.Second, r, ""}), state: Backup, deadline: down}.run(t)
			scenario{steps: asActive(step{down + 300*ms, r, ""}), state: Active, deadline: down + time.Second}.run(t)
		})
	}
}

func TestMachineVersion2Password(t *testing.T) {
	withPassword := func(c *Config) { c.Version, c.AuthType, c.AuthData = 2, AuthPass, password("42") }
	from := func(auth uint8, pass string) Received {
		r := heard(above, 200)
		r.Advertisement.Version, r.Advertisement.AuthType, r.Advertisement.AuthData = 2, auth, password(pass)
		return r
	}
	runScenarios(t, []scenario{
		{
			name: "right", change: withPassword, steps: asBackup(step{time.Second, from(AuthPass, "42"), ""}),
			state: Backup, deadline: time.Second + down,
		},
		{
			name: "wrong", change: withPassword, steps: asBackup(step{time.Second, from(AuthPass, "43"), ""}),
			state: Backup, deadline: down,
		},
		{
			name: "missing", change: withPassword, steps: asBackup(step{time.Second, from(AuthNone, ""), ""}),
			state: Backup, deadline: down,
		},
		{
			name: "not configured", change: v2, steps: asBackup(step{time.Second, from(AuthPass, "42"), ""}),
			state: Backup, deadline: down,
		},
		{
			name: "none, with what receivers ignore", change: v2, steps: asBackup(step{time.Second, from(AuthNone, "42"), ""}),
			state: Backup, deadline: time.Second + down,
		},
	})
}

func TestMachineSpread(t *testing.T) {
	spread := func(d time.Duration) step { return step{0, SetSpread{d}, ""} }
	runScenarios(t, []scenario{
		{
			name:  "applies to the timer of Startup",
			steps: []step{spread(50 * ms), start()}, state: Backup, deadline: down + 50*ms,
		},
		{
			name:  "moves a running timer",
			steps: asBackup(step{time.Second, heard(above, 100), ""}, step{2 * time.Second, SetSpread{50 * ms}, ""}),
			state: Backup, deadline: time.Second + down + 50*ms,
		},
		{
			name:  "applies after priority 0",
			steps: []step{spread(50 * ms), start(), {time.Second, heard(above, 100), ""}, {2 * time.Second, heard(above, 0), ""}},
			state: Backup, deadline: 2*time.Second + skew + 50*ms,
		},
		{
			name:  "is at most an eighth of the interval",
			steps: asBackup(step{time.Second, SetSpread{time.Hour}, ""}), state: Backup, deadline: down + 125*ms,
		},
		{
			name:  "is at most an eighth of the interval that was adopted",
			steps: []step{spread(time.Hour), start(), {time.Second, heard(above, 200).every(400 * ms), ""}},
			state: Backup, deadline: time.Second + 1443750*time.Microsecond + 50*ms,
		},
		{
			name:  "is never taken away",
			steps: asBackup(step{time.Second, SetSpread{-50 * ms}, ""}), state: Backup, deadline: down,
		},
		{
			name:  "leaves an Active alone",
			steps: asActive(step{4 * time.Second, SetSpread{50 * ms}, ""}), state: Active, deadline: down + time.Second,
		},
	})
}

func TestMachineSetPriority(t *testing.T) {
	runScenarios(t, []scenario{
		{
			name:  "Backup: the deadline counts from what was heard last",
			steps: asBackup(step{time.Second, heard(above, 200), ""}, step{2 * time.Second, SetPriority{192}, ""}),
			// 3 s + 64/256 s
			state: Backup, deadline: time.Second + 3250*ms,
		},
		{
			name: "Backup after priority 0: Skew_Time is computed anew",
			steps: asBackup(
				step{time.Second, heard(above, 200), ""},
				step{2 * time.Second, heard(above, 0), ""},
				step{2100 * ms, SetPriority{192}, ""},
			),
			state: Backup, deadline: 2250 * ms,
		},
		{
			name:  "Active: advertises at once",
			steps: asActive(step{down + 300*ms, SetPriority{1}, "send 1"}), state: Active, deadline: down + 1300*ms,
		},
		{
			name:  "Active: the same again does nothing",
			steps: asActive(step{down + 300*ms, SetPriority{100}, ""}), state: Active, deadline: down + time.Second,
		},
		{
			name: "Active: decides with the new one",
			steps: asActive(
				step{down + 300*ms, SetPriority{1}, "send 1"},
				step{down + 400*ms, heard(below, 2), "active>backup (higher priority heard); send 1"},
			),
			state: Backup, deadline: down + 420*ms,
		},
		{
			name:  "0 counts as 1",
			steps: asActive(step{down + 300*ms, SetPriority{0}, "send 1"}), state: Active, deadline: down + 1300*ms,
		},
		{
			name:  "255 is for the configured owner",
			steps: asActive(step{down + 300*ms, SetPriority{255}, "send 254"}), state: Active, deadline: down + 1300*ms,
		},
		{
			name:  "outlives Shutdown",
			steps: []step{{0, SetPriority{192}, ""}, start(), {time.Second, Shutdown{}, "backup>initialize (shut down)"}, {2 * time.Second, Startup{}, started}},
			state: Backup, deadline: 2*time.Second + 3250*ms,
		},
		{
			name: "an owner that is not well starts as Backup", change: owner,
			steps: []step{{0, SetPriority{192}, ""}, start()}, state: Backup, deadline: 3250 * ms,
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

// The loser gives the addresses up first, and then makes itself heard three times.
func TestMachineFarewell(t *testing.T) {
	lose := step{4 * time.Second, heard(above, 200), yieldHigh}
	runScenarios(t, []scenario{
		{
			name: "at 0, 20 and 50 ms",
			steps: asActive(
				lose,
				step{4*time.Second + 19*ms, Expired{}, ""},
				step{4*time.Second + 20*ms, Expired{}, "send 100"},
				step{4*time.Second + 49*ms, Expired{}, ""},
				step{4*time.Second + 50*ms, Expired{}, "send 100"},
				step{4*time.Second + 51*ms, Expired{}, ""},
			),
			state: Backup, deadline: 4*time.Second + down,
		},
		{
			name:  "late, one instead of a burst",
			steps: asActive(lose, step{4*time.Second + 70*ms, Expired{}, "send 100"}), state: Backup, deadline: 4*time.Second + down,
		},
		{
			name: "the winner's answers do not stop them",
			steps: asActive(
				lose, step{4*time.Second + ms, heard(above, 200), ""},
				step{4*time.Second + 20*ms, Expired{}, "send 100"},
			),
			state: Backup, deadline: 4*time.Second + 50*ms,
		},
		{
			name: "Shutdown stops them",
			steps: asActive(
				lose, step{4*time.Second + 10*ms, Shutdown{}, "backup>initialize (shut down)"},
				step{4*time.Second + 15*ms, Startup{}, started},
			),
			state: Backup, deadline: 4*time.Second + 15*ms + down,
		},
		{
			name: "taking over stops them", change: func(c *Config) { c.Interval = 10 * ms },
			steps: []step{
				start(),
				{40 * ms, Expired{}, tookOver},
				{41 * ms, heard(above, 200).every(10 * ms), yieldHigh},
				// 3 x 10 ms + 156/256 x 10 ms later
				{78 * ms, Expired{}, tookOver},
				{88 * ms, Expired{}, "send 100"},
			},
			state: Active, deadline: 98 * ms,
		},
		{
			name: "taking over stops them for good", change: func(c *Config) { c.Interval = 10 * ms },
			steps: []step{
				start(),
				{40 * ms, Expired{}, tookOver},
				{41 * ms, heard(above, 200).every(10 * ms), yieldHigh},
				{78 * ms, Expired{}, tookOver},
				{200 * ms, Expired{}, "active>backup (" + string(ReasonFrozen) + ")"},
				{210 * ms, Expired{}, ""},
			},
			// 3 x 10 ms + 156/256 x 10 ms
			state: Backup, deadline: 236093750 * time.Nanosecond,
		},
	})
}

func TestMachineFarewellCarriesTheLongerInterval(t *testing.T) {
	m := scenario{
		change: func(c *Config) { c.Interval = 100 * ms },
		steps:  []step{start(), {400 * ms, Expired{}, tookOver}}, state: Active, deadline: 500 * ms,
	}.run(t)
	actions := m.Step(epoch.Add(410*ms), heard(above, 200).every(time.Second))
	require.Len(t, actions, 2)
	assert.Equal(t, time.Second, actions[1].(Send).Advertisement.Interval, "third routers adopt it")
}

// Two routers that both believe they win must not answer each other at line rate.
func TestMachineActiveAnswersRivalsAtMostEachMillisecond(t *testing.T) {
	scenario{
		steps: asActive(
			step{4 * time.Second, heard(below, 50), "send 100; reannounce 10.9.0.10"},
			step{4*time.Second + 999*time.Microsecond, heard(below, 50), "reannounce 10.9.0.10"},
			step{4*time.Second + ms, heard(below, 50), "send 100; reannounce 10.9.0.10"},
		),
		state: Active, deadline: 5*time.Second + ms,
	}.run(t)
}

// An Active that was frozen for longer than its Active_Down_Interval has lost its right to the addresses.
func TestMachineActiveFrozen(t *testing.T) {
	const late = 2*down + ms // the last advertisement went out at down
	frozen := "active>backup (" + string(ReasonFrozen) + ")"
	runScenarios(t, []scenario{
		{
			name:  "Expired at the last moment: goes on",
			steps: asActive(step{2 * down, Expired{}, "send 100"}), state: Active, deadline: 2*down + time.Second,
		},
		{
			name:  "Expired later: Backup, silently, for one Active_Down_Interval",
			steps: asActive(step{late, Expired{}, frozen}), state: Backup, deadline: late + down,
		},
		{
			name:  "nobody there: takes over again",
			steps: asActive(step{late, Expired{}, frozen}, step{late + down, Expired{}, tookOver}),
			state: Active, deadline: late + down + time.Second,
		},
		{
			name:  "an equal router first seen on waking is followed",
			steps: asActive(step{late, heard(below, 100), frozen}), state: Backup, deadline: late + down,
		},
		{
			name:  "a lower one is not answered",
			steps: asActive(step{late, heard(below, 50), frozen}), state: Backup, deadline: late + down,
		},
		{
			name:  "Shutdown: no priority 0",
			steps: asActive(step{late, Shutdown{}, frozen + "; backup>initialize (shut down)"}), state: Initialize,
		},
		{
			name:  "new priority: not advertised",
			steps: asActive(step{late, SetPriority{192}, frozen}), state: Backup, deadline: late + 3250*ms,
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

func TestMachineChangeOfInterval(t *testing.T) {
	slower, faster := base(), base()
	slower.Interval, faster.Interval = 2*time.Second, 100*ms
	runScenarios(t, []scenario{
		{
			name: "Active, longer: five advertisements at the old pace",
			steps: asActive(
				step{4 * time.Second, Reconfigure{slower}, "send 100"},
				step{5 * time.Second, Expired{}, "send 100"},
				step{6 * time.Second, Expired{}, "send 100"},
				step{7 * time.Second, Expired{}, "send 100"},
				step{8 * time.Second, Expired{}, "send 100"},
				step{9 * time.Second, Expired{}, "send 100"},
			),
			state: Active, deadline: 11 * time.Second,
		},
		{
			name:  "Active, shorter: at once",
			steps: asActive(step{4 * time.Second, Reconfigure{faster}, "send 100"}), state: Active, deadline: 4100 * ms,
		},
		{
			name:  "Backup: keeps the interval of the Active that it follows",
			steps: asBackup(step{time.Second, heard(above, 200), ""}, step{2 * time.Second, Reconfigure{faster}, ""}),
			state: Backup, deadline: time.Second + down,
		},
		{
			name:  "Backup that has heard nobody: from the same start",
			steps: asBackup(step{100 * ms, Reconfigure{slower}, ""}), state: Backup, deadline: 7218750 * time.Microsecond,
		},
		{
			name: "taking over from a faster Active: five advertisements at its pace",
			steps: asBackup(
				step{time.Second, heard(above, 200).every(400 * ms), ""},
				step{time.Second + 1444*ms, Expired{}, tookOver},
				step{time.Second + 1844*ms, Expired{}, "send 100"},
			),
			state: Active, deadline: time.Second + 2244*ms,
		},
		{
			name:   "restarted with a shorter interval: waits for a slower Active",
			change: func(c *Config) { c.Interval, c.StartupInterval = 100*ms, time.Second },
			steps:  asBackup(), state: Backup, deadline: down,
		},
		{
			name:   "restarted with a shorter interval: the first advertisement heard decides",
			change: func(c *Config) { c.Interval, c.StartupInterval = 100*ms, time.Second },
			steps:  asBackup(step{time.Second, heard(above, 200).every(400 * ms), ""}),
			state:  Backup, deadline: time.Second + 1443750*time.Microsecond,
		},
	})
}

func TestMachineReconfigure(t *testing.T) {
	with := func(f func(*Config)) Reconfigure {
		c := base()
		f(&c)
		return Reconfigure{c}
	}
	runScenarios(t, []scenario{
		{
			name:  "Active: other addresses are advertised at once",
			steps: asActive(step{4 * time.Second, with(func(c *Config) { c.Addresses = []netip.Addr{addr("10.9.0.101")} }), "send 100"}),
			state: Active, deadline: 5 * time.Second,
		},
		{
			name:  "Active: what is not advertised changes silently",
			steps: asActive(step{4 * time.Second, with(nopreempt), ""}), state: Active, deadline: down + time.Second,
		},
		{
			name:  "priority",
			steps: asActive(step{4 * time.Second, with(func(c *Config) { c.Priority = 50 }), "send 50"}), state: Active, deadline: 5 * time.Second,
		},
		{
			name:  "the same priority leaves the effective one",
			steps: asActive(step{4 * time.Second, SetPriority{50}, "send 50"}, step{4100 * ms, with(nopreempt), ""}),
			state: Active, deadline: 5 * time.Second,
		},
		{
			name:  "invalid: nothing",
			steps: asActive(step{4 * time.Second, with(func(c *Config) { c.Priority = 0 }), ""}), state: Active, deadline: down + time.Second,
		},
		{
			name:  "another Virtual Router: nothing",
			steps: asActive(step{4 * time.Second, with(func(c *Config) { c.VRID = 52 }), ""}), state: Active, deadline: down + time.Second,
		},
	})
}

func TestMachineShutdownReason(t *testing.T) {
	scenario{steps: asActive(step{4 * time.Second, Shutdown{Reason: "drained"}, "active>initialize (drained); send 0"}), state: Initialize}.run(t)
}

func TestMachineTakesNothingItWasGiven(t *testing.T) {
	cfg := base()
	m, err := NewMachine(cfg)
	require.NoError(t, err)
	cfg.Addresses[0] = addr("10.9.0.1")
	m.Step(epoch, Startup{})
	actions := m.Step(epoch.Add(down), Expired{})
	assert.Equal(t, []netip.Addr{vip}, actions[0].(Send).Advertisement.Addresses)
}

func TestMachineSnapshot(t *testing.T) {
	m, err := NewMachine(base())
	require.NoError(t, err)
	want := Snapshot{Priority: 100, ActiveAdverInterval: time.Second, SkewTime: skew, ActiveDownInterval: down}
	assert.Equal(t, want, m.Snapshot())

	m.Step(epoch, SetSpread{time.Hour})
	m.Step(epoch, Startup{})
	m.Step(epoch.Add(time.Second), heard(above, 200).every(400*ms))
	m.Step(epoch.Add(time.Second), SetPriority{192})
	assert.Equal(t, Snapshot{
		State: Backup, Since: epoch, Reason: ReasonStarted, Priority: 192, Followed: above, FollowedPriority: 200,
		ActiveAdverInterval: 400 * ms, SkewTime: 100 * ms, ActiveDownInterval: 1300 * ms, Spread: 50 * ms,
	}, m.Snapshot())

	m.Step(epoch.Add(2350*ms), Expired{})
	assert.Equal(t, Snapshot{
		State: Active, Since: epoch.Add(2350 * ms), Reason: ReasonSilence, Priority: 192,
		ActiveAdverInterval: time.Second, SkewTime: 250 * ms, ActiveDownInterval: 3250 * ms, Spread: 125 * ms,
	}, m.Snapshot())
}

func TestConfigValidate(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"vrrp: version 4, want 2 or 3":                 func(c *Config) { c.Version = 4 },
		"vrrp: VRID 0, want 1 to 255":                  func(c *Config) { c.VRID = 0 },
		"vrrp: priority 0, want 1 to 255":              func(c *Config) { c.Priority = 0 },
		"vrrp: 0 addresses, want 1 to 255":             func(c *Config) { c.Addresses = nil },
		"vrrp: source invalid IP, want an IPv4":        func(c *Config) { c.Source = netip.Addr{} },
		"vrrp: address 10.9.0.100, want the family":    func(c *Config) { c.Source = addr("fe80::1") },
		"vrrp: version 2 over IPv6, want version 3":    func(c *Config) { c.Version, c.Source = 2, addr("fe80::1") },
		"vrrp: advertisement interval 0s, want 10ms":   func(c *Config) { c.Interval = 0 },
		"vrrp: preempt delay -1ns, want 0s to 16m40s":  func(c *Config) { c.PreemptDelay = -1 },
		"vrrp: startup delay 1h0m0s, want 0s to 16m40": func(c *Config) { c.StartupDelay = time.Hour },
		"vrrp: down timer adverts 101, want 1 to 100":  func(c *Config) { c.DownTimerAdverts = 101 },
		"vrrp: startup interval 1h0m0s, want 0s to 40": func(c *Config) { c.StartupInterval = time.Hour },
	} {
		c := base()
		change(&c)
		_, err := NewMachine(c)
		assert.ErrorContains(t, err, want)
	}
}

func TestConfigCheckNamesTheReason(t *testing.T) {
	v2PassConfig := base()
	v2PassConfig.Version, v2PassConfig.AuthType, v2PassConfig.AuthData = 2, AuthPass, password("42")
	ad := v2PassConfig.advertisement(100)
	with := func(f func(*Advertisement)) Advertisement {
		a := ad
		f(&a)
		return a
	}
	tests := []struct {
		give   Advertisement
		reason string
		want   string
	}{
		{with(func(a *Advertisement) { a.Version = 3 }), RejectVersion, "vrrp: version 3, want 2"},
		{with(func(a *Advertisement) { a.VRID = 9 }), RejectVRID, "vrrp: VRID 9, want 51"},
		{with(func(a *Advertisement) { a.Interval = 3 * time.Second }), RejectInterval, "vrrp: advertisement interval 3s, want 1s"},
		{with(func(a *Advertisement) { a.AuthType = AuthNone }), RejectAuth, "vrrp: authentication type 0, want 1"},
		{with(func(a *Advertisement) { a.AuthData = password("43") }), RejectAuth, "vrrp: authentication data differ from the configured"},
	}
	for _, tt := range tests {
		err := v2PassConfig.Check(above, tt.give)
		var packet *PacketError
		require.ErrorAs(t, err, &packet, tt.want)
		assert.Equal(t, tt.reason, packet.Reason)
		assert.EqualError(t, err, tt.want)
	}
	assert.NoError(t, v2PassConfig.Check(above, ad))
	assert.EqualError(t, v2PassConfig.Check(addr("fe80::1"), ad), "vrrp: address family IPv6, want IPv4")
	for reason, want := range map[string]string{
		RejectTTL: "vrrp: TTL 64, want 255", RejectAddresses: "vrrp: none of the advertised addresses is ours",
	} {
		assert.EqualError(t, &PacketError{Reason: reason, Got: 64, Want: 255}, want)
	}
}

func TestStateString(t *testing.T) {
	assert.Equal(t, "initialize", Initialize.String())
	assert.Equal(t, "backup", Backup.String())
	assert.Equal(t, "active", Active.String())
	assert.Equal(t, "state(7)", State(7).String())
}
