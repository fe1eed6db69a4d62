package main

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// detectorCases are of `vrrp.detector: fast`: what it finds, what it must not take for a death, and what it costs. Cuts have a row without it.
func detectorCases() []benchCase {
	fast := trial.Config{Product: trial.Fast()}
	of := func(what string, runs int, c trial.Config, f trial.Fault, l limits) benchCase {
		return benchCase{name: "detector fast, " + what, runs: runs, config: c, fault: f, limits: l}
	}
	dies := limits{outageMedian: 45 * ms, outageWorst: 60 * ms, two: noTwo, takeovers: 1}
	stays := limits{two: noTwo, takeovers: noTakeover}
	cases := []benchCase{
		of("node death", 50, fast, trial.NodeDeath, dies),
		of("node death, IPv6", 20, trial.Config{Product: trial.Fast(), Addresses: []netip.Addr{lab.VIP6}}, trial.NodeDeath, dies),
		of("node death, 5 nodes", 20, trial.Config{Product: trial.Fast(), Lab: lab.Config{Nodes: 5}}, trial.NodeDeath, dies),
		of("cable pulled", 20, fast, trial.CablePulled, dies),
		of("20 % of all frames lost, 60 s", 5, fast, trial.LosesAll(20, time.Minute), stays),
		of("8 loops of short tasks on every processor, 60 s", 5, fast, trial.Busy(8, time.Minute), stays),
		of("standstill of 10 s (SIGSTOP)", 5, fast, trial.Frozen(10*time.Second), limits{two: noTwo}),
		of("idle", 3, fast, trial.Idle(30*time.Second), limits{takeovers: noTakeover, vrrpLimits: vrrpLimits{cpu: 1.6, rss: 20 << 20}}),
		of("deaf holder, 5 s", 5, fast, trial.ToHolder("deaf", 5*time.Second), limits{}),
		{name: "detector plain, deaf holder, 5 s", runs: 5, fault: trial.ToHolder("deaf", 5*time.Second)},
	}
	for _, c := range trial.WayCuts() {
		cases = append(cases,
			of(c.Name+", 3 s", 3, fast, c.For(3*time.Second), limits{}),
			benchCase{name: "detector plain, " + c.Name + ", 3 s", runs: 3, fault: c.For(3 * time.Second)})
	}
	return cases
}
