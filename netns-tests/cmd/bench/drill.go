package main

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// drillCases fail over on purpose: the figure is the lab's own, and the address comes back. A drill that is broken leaves one holder.
func drillCases() []benchCase {
	vrrp, raft := trial.Config{API: true}, trial.RaftConfig(trial.Raft{})
	raft.API = true
	return append(drillCasesOf("VRRP", vrrp), drillCasesOf("Raft", raft)...)
}

func drillCasesOf(name string, config trial.Config) (cases []benchCase) {
	for _, kind := range []string{"handover", "stop", "check"} {
		cases = append(cases, benchCase{
			name: fmt.Sprintf("drill, %s, %s", name, kind), runs: 3, config: config, fault: trial.Drilled(kind),
			limits: limits{outageWorst: 1200 * ms, two: 120 * ms},
		})
		for _, how := range []trial.DrillBreak{trial.BreakInterrupt, trial.BreakCommand, trial.BreakDaemon} {
			for _, after := range []time.Duration{100 * ms, 400 * ms, 700 * ms, 1500 * ms} {
				cases = append(cases, benchCase{
					name: fmt.Sprintf("drill, %s, %s, %s after %v", name, kind, how, after), runs: 1, config: config,
					fault: trial.DrillBroken(kind, after, how), limits: limits{outageWorst: 2500 * ms, two: 120 * ms},
				})
			}
		}
	}
	return cases
}
