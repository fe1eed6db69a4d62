package main

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// raftCases are the faults of an election by Raft. In none of them may two nodes answer, and whoever can reach a majority has
// a holder within 2.5 s.
func raftCases() []benchCase {
	var (
		three = trial.RaftConfig(trial.Raft{})
		five  = trial.RaftConfig(trial.Raft{Peers: 5})
		apart = trial.RaftConfig(trial.RaftOwnClocks())
		fast  = trial.RaftConfig(trial.Raft{Heartbeat: 200 * ms})
		held  = limits{two: noTwo, outageWorst: 2500 * ms}
		cases []benchCase
	)
	add := func(name string, runs int, c trial.Config, f trial.Fault, l limits) {
		cases = append(cases, benchCase{name: "raft, " + name, runs: runs, config: c, fault: f, limits: l})
	}
	const cut = 5 * time.Second
	add("node death", 20, three, trial.NodeDeath, limits{two: noTwo, outageMedian: 1200 * ms, outageWorst: 2500 * ms})
	add("node death, fast profile", 20, fast, trial.NodeDeath, limits{two: noTwo, outageMedian: 400 * ms, outageWorst: 2500 * ms})
	add("node death, five nodes", 10, five, trial.NodeDeath, limits{two: noTwo, outageMedian: 1200 * ms, outageWorst: 2500 * ms})
	add("holder alone", 10, three, trial.Lost("the holder and the others are apart").For(cut), held)
	add("holder with a minority of five", 10, five, trial.TwoOfFive(true).For(cut), held)
	add("holder sends, does not receive", 10, three, trial.Lost("the holder hears none of the others").For(cut), held)
	add("holder receives, does not send", 10, three, trial.Lost("none of the others hears the holder").For(cut), held)
	add("follower islands", 10, three, trial.Lost("the others do not hear each other").For(cut), limits{two: noTwo, outageWorst: 20 * ms, takeovers: noTakeover})
	add("30 % loss", 10, three, trial.LossBetween(30).For(10*time.Second), held)
	add("SIGSTOP", 10, three, trial.Frozen(3*time.Second), held)
	add("kill -9", 10, three, trial.DaemonKilled, held)
	add("acknowledging follower restarted", 10, three, trial.AcknowledgerRestarted(false), held)
	add("acknowledging follower restarted, holder frozen", 10, three, trial.AcknowledgerRestarted(true), limits{two: noTwo, outageWorst: 2500 * ms})
	add("clocks stepped by 1 h", 5, apart, trial.ClocksStepped(time.Hour), held)
	add("clocks stepped by -1 h", 5, apart, trial.ClocksStepped(-time.Hour), held)
	add("SIGTERM", 10, three, trial.Terminated, limits{two: noTwo, outageWorst: 300 * ms, takeovers: 1})
	add("handover", 10, three, trial.Verb("handover"), limits{two: noTwo, outageWorst: 300 * ms, takeovers: 1})
	return cases
}
