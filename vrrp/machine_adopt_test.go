package vrrp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// times is Active_Down_Interval of base for an Active_Adver_Interval of n seconds.
func times(n time.Duration) time.Duration { return n * down }

func TestMachineAdoptsALongIntervalOnlyWhenItIsRepeated(t *testing.T) {
	const longest = 40950 * ms
	slow := func(c *Config) { c.StartupInterval = 20 * time.Second }
	runScenarios(t, []scenario{
		{
			name: "five times ours, at once", steps: asBackup(step{time.Second, heard(above, 200).every(5 * time.Second), ""}),
			state: Backup, deadline: time.Second + times(5),
		},
		{
			name: "ten times ours, at once", steps: asBackup(step{time.Second, heard(above, 200).every(10 * time.Second), ""}),
			state: Backup, deadline: time.Second + times(10),
		},
		{
			name: "one forged advertisement to a Backup", steps: asBackup(step{time.Second, heard(above, 255).every(longest), ""}),
			state: Backup, deadline: time.Second + times(10),
		},
		{
			name: "one forged advertisement to the Active", steps: asActive(step{4 * time.Second, heard(above, 255).every(longest), yieldHigh}),
			state: Backup, deadline: 4*time.Second + 20*ms,
		},
		{
			name: "a burst of them",
			steps: asBackup(
				step{time.Second, heard(above, 255).every(longest), ""},
				step{1001 * ms, heard(above, 255).every(longest), ""},
				step{2 * time.Second, heard(above, 255).every(longest), ""},
			),
			state: Backup, deadline: 2*time.Second + times(10),
		},
		{
			name: "a router that repeats it is waited for as RFC 9568 has it",
			steps: asBackup(
				step{time.Second, heard(above, 200).every(20 * time.Second), ""},
				step{21 * time.Second, heard(above, 200).every(20 * time.Second), ""},
			),
			state: Backup, deadline: 21*time.Second + times(20),
		},
		{
			name:   "StartupInterval says that there is one",
			change: slow,
			steps:  []step{{0, Startup{}, started}, {time.Second, heard(above, 200).every(20 * time.Second), ""}},
			state:  Backup, deadline: time.Second + times(20),
		},
		{
			name: "what was repeated long ago counts no more",
			steps: asBackup(
				step{time.Second, heard(above, 200).every(11 * time.Second), ""},
				step{12 * time.Second, heard(above, 200).every(11 * time.Second), ""},
				step{13 * time.Second, heard(above, 200).every(time.Second), ""},
				step{16 * time.Second, heard(above, 200).every(time.Second), ""},
				step{60 * time.Second, heard(above, 200).every(11 * time.Second), ""},
			),
			state: Backup, deadline: 60*time.Second + times(10),
		},
	})
}

// A Backup asks before it takes over from an Active whose interval may be longer than it was waited for.
func TestMachineAsksBeforeItTakesOverFromASlowActive(t *testing.T) {
	const interval = 40 * time.Second
	bounded := time.Second + times(10)
	runScenarios(t, []scenario{
		{
			name: "it answers, and is waited for as RFC 9568 has it from then on",
			steps: asBackup(
				step{time.Second, heard(above, 200).every(interval), ""},
				step{bounded, Expired{}, "send 100"},
				step{bounded + ms, heard(above, 200).every(interval), ""},
			),
			state: Backup, deadline: bounded + ms + times(40),
		},
		{
			name: "nobody answers",
			steps: asBackup(
				step{time.Second, heard(above, 200).every(interval), ""},
				step{bounded, Expired{}, "send 100"},
				step{bounded + time.Second, Expired{}, tookOver},
			),
			state: Active, deadline: bounded + 2*time.Second,
		},
		{
			name: "one whose interval is not longer is not asked",
			steps: asBackup(
				step{time.Second, heard(above, 200).every(10 * time.Second), ""},
				step{bounded, Expired{}, tookOver},
			),
			state: Active, deadline: bounded + time.Second,
		},
	})
}

func TestConfigLongestInterval(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   time.Duration
	}{
		{"ten times ours", func(c *Config) { c.Interval = 100 * ms }, time.Second},
		{"what the operator expects", func(c *Config) { c.StartupInterval = 30 * time.Second }, 30 * time.Second},
		{"version 2 adopts nothing", v2, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := base()
			tt.change(&c)
			assert.Equal(t, tt.want, c.LongestInterval())
		})
	}
}
