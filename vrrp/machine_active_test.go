package vrrp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The loser gives the addresses up first, and then makes itself heard three times.
func TestMachineFinalAdvertisements(t *testing.T) {
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
			name: "never with more priority than lost",
			steps: asActive(
				lose, step{4*time.Second + 10*ms, SetPriority{Priority: 250}, ""},
				step{4*time.Second + 20*ms, Expired{}, "send 100"},
				step{4*time.Second + 30*ms, SetPriority{Priority: 1}, ""},
				step{4*time.Second + 50*ms, Expired{}, "send 1"},
			),
			state: Backup, deadline: 4*time.Second + 3*time.Second + 255*time.Second/256,
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

func TestMachineFinalAdvertisementsCarryTheLongerInterval(t *testing.T) {
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

// Rivals that never end do not make an Active flood the link: it answers a burst, and then ten in an interval.
func TestMachineActiveAnswersAFloodOfRivalsSeldom(t *testing.T) {
	m := scenario{steps: asActive(), state: Active, deadline: down + time.Second}.run(t)
	sent := 0
	for at := 4 * time.Second; at < 9*time.Second; at += 2 * ms {
		for _, a := range m.Step(epoch.Add(at), heard(below, 50)) {
			if _, ok := a.(Send); ok {
				sent++
			}
		}
	}
	assert.LessOrEqual(t, sent, 66)
	assert.GreaterOrEqual(t, sent, 50)
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

func TestMachineShutdownReason(t *testing.T) {
	scenario{steps: asActive(step{4 * time.Second, Shutdown{Reason: "drained"}, "active>initialize (drained); send 0"}), state: Initialize}.run(t)
}

// However late a timer is served, and whatever draws an advertisement in between, the next one is on a tick.
func TestMachineActiveAdvertisesOnTicks(t *testing.T) {
	ticks := func(c *Config) { c.Tick = 125 * ms }
	runScenarios(t, []scenario{
		{
			name: "from the second advertisement on", change: ticks,
			steps: []step{
				start(),
				{3700 * ms, Expired{}, tookOver},
				{4624 * ms, Expired{}, ""},
				{4627 * ms, Expired{}, "send 100"},
			},
			state: Active, deadline: 5625 * ms,
		},
		{
			name: "on a tick already", change: ticks,
			steps: []step{start(), {3750 * ms, Expired{}, tookOver}}, state: Active, deadline: 4750 * ms,
		},
	})
	p := parameters{cfg: Config{Tick: 500 * ms}}
	assert.Equal(t, epoch.Add(800*ms), p.onTick(epoch.Add(100*ms), 700*ms), "an interval too short for ticks")
	assert.Equal(t, epoch.Add(time.Second), p.onTick(epoch.Add(100*ms), 1100*ms))
}
