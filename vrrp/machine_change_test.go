package vrrp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
			name: "Active: a lower one with the next advertisement",
			steps: asActive(
				step{down + 300*ms, SetPriority{1}, ""},
				step{down + time.Second, Expired{}, "send 1"},
			),
			state: Active, deadline: down + 2*time.Second,
		},
		{
			name: "Active: a lower one not within two milliseconds, in which the members are told",
			steps: asActive(
				step{down + 999*ms, SetPriority{1}, ""},
				step{down + time.Second, Expired{}, ""},
			),
			state: Active, deadline: down + 1001*ms,
		},
		{
			name:  "Active: a higher one at once",
			steps: asActive(step{down + 300*ms, SetPriority{200}, "send 200"}), state: Active, deadline: down + 1300*ms,
		},
		{
			name: "Active: as high again as before, at once",
			steps: asActive(
				step{down + 300*ms, SetPriority{1}, ""},
				step{down + 400*ms, SetPriority{100}, "send 100"},
			),
			state: Active, deadline: down + 1400*ms,
		},
		{
			name:  "Active: the same again does nothing",
			steps: asActive(step{down + 300*ms, SetPriority{100}, ""}), state: Active, deadline: down + time.Second,
		},
		{
			name: "Active: decides with the new one",
			steps: asActive(
				step{down + 300*ms, SetPriority{1}, ""},
				step{down + 400*ms, heard(below, 2), "active>backup (higher priority heard); send 1"},
			),
			state: Backup, deadline: down + 420*ms,
		},
		{
			name:  "0 counts as 1",
			steps: asActive(step{down + 300*ms, SetPriority{0}, ""}, step{down + time.Second, Expired{}, "send 1"}),
			state: Active, deadline: down + 2*time.Second,
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
			name: "Active: a lower priority with the next advertisement",
			steps: asActive(
				step{4 * time.Second, with(func(c *Config) { c.Priority = 50 }), ""},
				step{4*time.Second + down - 3*time.Second, Expired{}, "send 50"},
			),
			state: Active, deadline: 2*time.Second + down,
		},
		{
			name:  "Active: a higher priority at once",
			steps: asActive(step{4 * time.Second, with(func(c *Config) { c.Priority = 150 }), "send 150"}), state: Active, deadline: 5 * time.Second,
		},
		{
			name: "Active: other addresses at once, whatever the priority",
			steps: asActive(step{4 * time.Second, with(func(c *Config) {
				c.Priority, c.Addresses = 50, []netip.Addr{addr("10.9.0.101")}
			}), "send 50"}),
			state: Active, deadline: 5 * time.Second,
		},
		{
			name: "the same priority leaves the effective one",
			steps: asActive(
				step{4 * time.Second, SetPriority{50}, ""}, step{4100 * ms, with(nopreempt), ""},
				step{4*time.Second + down - 3*time.Second, Expired{}, "send 50"},
			),
			state: Active, deadline: 2*time.Second + down,
		},
		{
			name: "another priority leaves the effective one",
			steps: asActive(
				step{4 * time.Second, SetPriority{1}, ""}, step{4100 * ms, with(func(c *Config) { c.Priority = 150 }), ""},
				step{4*time.Second + down - 3*time.Second, Expired{}, "send 1"},
				step{5*time.Second + 500*ms, SetPriority{150}, "send 150"},
			),
			state: Active, deadline: 6*time.Second + 500*ms,
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
	want := Snapshot{Priority: 100, ActiveAdverInterval: time.Second, ActiveDownInterval: down}
	assert.Equal(t, want, m.Snapshot())

	m.Step(epoch, SetTieBreakDelay{time.Hour})
	m.Step(epoch, Startup{})
	m.Step(epoch.Add(time.Second), heard(above, 200).every(400*ms))
	m.Step(epoch.Add(time.Second), SetPriority{192})
	assert.Equal(t, Snapshot{
		State: Backup, Since: epoch, Reason: ReasonStarted, Priority: 192, Followed: above,
		ActiveAdverInterval: 400 * ms, ActiveDownInterval: 1300 * ms,
	}, m.Snapshot())

	m.Step(epoch.Add(2350*ms), Expired{})
	assert.Equal(t, Snapshot{
		State: Active, Since: epoch.Add(2350 * ms), Reason: ReasonSilence, Priority: 192,
		ActiveAdverInterval: time.Second, ActiveDownInterval: 3250 * ms,
	}, m.Snapshot())
}

func TestStateString(t *testing.T) {
	assert.Equal(t, "initialize", Initialize.String())
	assert.Equal(t, "backup", Backup.String())
	assert.Equal(t, "active", Active.String())
	assert.Equal(t, "state(7)", State(7).String())
}
