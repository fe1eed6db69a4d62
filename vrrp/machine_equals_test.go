package vrrp

import (
	"testing"
	"time"
)

// Among equals the rank alone decides who takes over, and when.
func TestMachineBackupAmongEquals(t *testing.T) {
	silent := 3 * time.Second
	from := func(priority uint8, rank, of int) Received {
		r := heard(above, priority)
		r.Equals = Equals{Rank: rank, Of: of}
		return r
	}
	runScenarios(t, []scenario{
		{
			name:  "the first takes over after three intervals",
			steps: asBackup(step{time.Second, from(100, 0, 2), ""}, step{time.Second + silent, Expired{}, tookOver}),
			state: Active, deadline: 2*time.Second + silent,
		},
		{
			name:  "the next waits 4 ms for each before it",
			steps: asBackup(step{time.Second, from(100, 2, 5), ""}), state: Backup, deadline: time.Second + silent + 8*ms,
		},
		{
			name:  "the last of many waits no longer than Skew_Time",
			steps: asBackup(step{time.Second, from(100, 1000, 1000), ""}), state: Backup, deadline: time.Second + down,
		},
		{
			name:  "the tie-break delay is not added",
			steps: asBackup(step{time.Second, from(100, 1, 2), ""}, step{time.Second, SetTieBreakDelay{50 * ms}, ""}),
			state: Backup, deadline: time.Second + silent + 4*ms,
		},
		{
			name:  "the first takes over immediately after priority 0",
			steps: asBackup(step{time.Second, from(100, 0, 2), ""}, step{2 * time.Second, from(0, 0, 2), ""}),
			state: Backup, deadline: 2 * time.Second,
		},
		{
			name:  "the next after its rank",
			steps: asBackup(step{time.Second, from(100, 1, 2), ""}, step{2 * time.Second, from(0, 1, 2), ""}),
			state: Backup, deadline: 2*time.Second + 4*ms,
		},
		{
			name:  "an Active of another priority: Skew_Time",
			steps: asBackup(step{time.Second, from(101, 0, 2), ""}), state: Backup, deadline: time.Second + down,
		},
		{
			name:  "a change of the own priority: its Skew_Time",
			steps: asBackup(step{time.Second, from(100, 0, 2), ""}, step{2 * time.Second, SetPriority{192}, ""}),
			state: Backup, deadline: time.Second + 3250*ms,
		},
		{
			name:  "another Active of which nothing is known: Skew_Time",
			steps: asBackup(step{time.Second, from(100, 0, 2), ""}, step{2 * time.Second, heard(below, 100), ""}),
			state: Backup, deadline: 2*time.Second + down,
		},
		{
			name: "an Active that becomes deaf, whose lease goes on: Skew_Time",
			steps: asBackup(step{time.Second, from(100, 0, 2), ""}, step{
				2 * time.Second, Received{Source: above, Advertisement: base().advertisement(100), Deaf: true, Equals: Equals{Of: 2}}, "",
			}),
			state: Backup, deadline: 2*time.Second + skew,
		},
	})
}

// Others may have taken over from a Prompt Active as soon as its lease was over.
func TestMachineActivePrompt(t *testing.T) {
	prompt := func(c *Config) { c.Prompt = true }
	began := down // of asActive
	runScenarios(t, []scenario{
		{
			name: "three intervals late it goes on", change: prompt,
			steps: asActive(step{began + 3*time.Second, Expired{}, "send 100"}), state: Active, deadline: began + 4*time.Second,
		},
		{
			name: "later than that it is frozen", change: prompt,
			steps: asActive(step{began + 3*time.Second + 1, Expired{}, "active>backup (" + string(ReasonFrozen) + ")"}),
			state: Backup, deadline: began + 3*time.Second + 1 + down,
		},
		{
			name:  "without Prompt it has its Skew_Time, too",
			steps: asActive(step{began + 3*time.Second + 1, Expired{}, "send 100"}), state: Active, deadline: began + 4*time.Second + 1,
		},
	})
}
