package vrrp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func grouped(c *Config) { c.Grouped = true }

func TestMachineGrouped(t *testing.T) {
	runScenarios(t, []scenario{
		{
			name: "waits for TakeOver", change: grouped,
			steps: asBackup(step{down, Expired{}, ""}, step{down + time.Minute, Expired{}, ""}), state: Backup,
		},
		{
			name: "becomes Active with it, however late", change: grouped,
			steps: asBackup(step{down, Expired{}, ""}, step{down + time.Minute, TakeOver{}, tookOver}),
			state: Active, deadline: down + time.Minute + time.Second,
		},
		{
			name: "TakeOver before that does nothing", change: grouped,
			steps: asBackup(step{down - 1, TakeOver{}, ""}), state: Backup, deadline: down,
		},
		{
			name: "an Active that is heard meanwhile is followed", change: grouped,
			steps: asBackup(step{down, Expired{}, ""}, step{down + time.Second, heard(above, 100), ""}, step{down + 2*time.Second, TakeOver{}, ""}),
			state: Backup, deadline: down + time.Second + down,
		},
		{
			name: "one of lower priority does not change its mind", change: grouped,
			steps: asBackup(step{down, Expired{}, ""}, step{down + time.Second, heard(above, 50), ""}, step{down + 2*time.Second, TakeOver{}, tookOver}),
			state: Active, deadline: down + 3*time.Second,
		},
		{
			name: "the owner waits too", change: func(c *Config) { owner(c); grouped(c) },
			steps: []step{{0, Startup{}, started}, {time.Second, TakeOver{}, "send 255; backup>active (" + string(ReasonOwner) + ")"}},
			state: Active, deadline: 2 * time.Second,
		},
		{
			name: "last advertisements go on while it waits", change: func(c *Config) { grouped(c); c.Interval = 10 * ms },
			steps: []step{
				{0, Startup{}, started},
				{37 * ms, Expired{}, ""},
				{37 * ms, TakeOver{}, tookOver},
				{38 * ms, heard(above, 200).every(10 * ms), yieldHigh},
				{58 * ms, Expired{}, "send 100"},
				{75 * ms, Expired{}, ""}, // ready now
			},
			state: Backup, deadline: 88 * ms,
		},
	})
}

func TestMachineGroupedSaysWhenItIsReady(t *testing.T) {
	cfg := base()
	cfg.Grouped = true
	m, _ := NewMachine(cfg)
	m.Step(epoch, Startup{})
	assert.False(t, m.Snapshot().Ready)
	m.Step(epoch.Add(down), Expired{})
	assert.True(t, m.Snapshot().Ready)
	m.Step(epoch.Add(down), TakeOver{})
	assert.False(t, m.Snapshot().Ready)
}
