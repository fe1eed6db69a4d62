package main

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// modes are the ways in which what the address stands for fails while keepvip
// itself is well.
func modes() []benchCase {
	var cases []benchCase
	add := func(name, mode string, runs int, fault trial.Fault, l limits) {
		cases = append(cases, benchCase{name: "apiserver " + name, mode: mode, runs: runs, fault: fault, limits: l, config: trial.Config{API: true}})
	}
	ill := func(name, mode string, m lab.APIMode, runs int, l limits) {
		add(name, mode, runs, trial.APIIll(m, "", 4*time.Second), l)
	}
	// Counted illness is seen after three probes 300 ms apart, or after three timeouts of 600 ms.
	counted := limits{seen: 1100 * ms, takeovers: 1}
	timed := limits{requestsWorst: 2500 * ms, takeovers: 1}
	add("killed", "the apiserver is killed (SIGKILL)", 20, trial.APIKilled, limits{requestsMedian: 150 * ms, requestsWorst: 250 * ms, takeovers: 1})
	ill("shuts down", "it shuts down, and serves on for its `--shutdown-delay-duration`", lab.APIShutdown, 10, limits{requestsWorst: 20 * ms, takeovers: 1})
	ill("refuses", "it closes its port", lab.APIRefuse, 10, limits{requestsWorst: 500 * ms, takeovers: 1})
	ill("500", "it answers 500", lab.API500, 10, counted)
	ill("403", "it answers 403", lab.API403, 5, counted)
	add("frozen", "it stands still (SIGSTOP)", 10, trial.APIFrozen(5*time.Second), timed)
	ill("hangs", "it takes requests and never answers", lab.APIHang, 10, timed)
	ill("stalls in the handshake", "it takes connections and never speaks TLS", lab.APIHandshake, 5, timed)
	ill("drips", "its answer comes in drops", lab.APIDrip, 5, timed)
	ill("1 GiB body", "its answer has 1 GiB", lab.APIHuge, 5, counted)
	ill("endless headers", "its header has no end", lab.APIHeaders, 5, counted)
	add("200 ms slower", "it answers 200 ms late", 5, trial.APIIll(lab.APISlow, "200ms", 5*time.Second), limits{takeovers: noTakeover})
	add("noise 30 %", "3 of 10 answers are 500, at random, for 1 minute", 3, trial.APIIll(lab.APINoise, "30", time.Minute), limits{takeovers: 1})
	add("restarts in a loop", "it restarts in a loop (5 s up, 5 s down, for 2 minutes)", 1, trial.APILoop(2*time.Minute, 5*time.Second, 5*time.Second), limits{takeovers: 2})
	add("killed on all nodes", "the apiservers of all nodes are killed at once", 20, trial.APIAllKilled, limits{outageWorst: 20 * ms, takeovers: noTakeover})
	add("killed on all nodes, one comes back", "and that of another node comes back first", 5, trial.APIOneBack, limits{outageWorst: 20 * ms, takeovers: 1})
	return append(cases, benchCase{
		name: "router lost", mode: "the holder cannot reach its router (check `gateway`)", runs: 5, fault: trial.RouterLost(5 * time.Second),
		config: trial.Config{Product: trial.Gatewayed{}}, limits: limits{takeovers: 1},
	})
}
