package main

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// checkMemory is what keepvip may need while a server does its worst.
const checkMemory = 32 << 20

// modes are the ways in which what the address stands for fails while keepvip
// itself is well.
func modes() []benchCase {
	var cases []benchCase
	add := func(name, mode string, runs int, fault trial.Fault, l limits) {
		cases = append(cases, benchCase{name: "apiserver " + name, mode: mode, runs: runs, fault: fault, limits: l, config: trial.Config{API: true}})
	}
	unhealthy := func(name, mode string, m lab.APIMode, runs int, l limits) {
		add(name, mode, runs, trial.APIIll(m, "", 4*time.Second), l)
	}
	// moved is an address that moves once, and is with the other node in time.
	moved := func(within time.Duration, l limits) limits {
		l.single, l.takeovers = 100, 1
		l.vrrpLimits = vrrpLimits{answered: within, rss: checkMemory}
		return l
	}
	// Counted bad health is seen after three probes 300 ms apart, or after three timeouts of 600 ms.
	counted := moved(1100*ms, limits{seen: 1100 * ms})
	timed := moved(2500*ms, limits{requestsWorst: 2500 * ms})
	add("killed", "the apiserver is killed (SIGKILL)", 20, trial.APIKilled, moved(250*ms, limits{requestsMedian: 150 * ms, requestsWorst: 250 * ms}))
	unhealthy("shuts down", "it shuts down, and serves on for its `--shutdown-delay-duration`", lab.APIShutdown, 10, moved(500*ms, limits{requestsWorst: 20 * ms}))
	unhealthy("refuses", "it closes its port", lab.APIRefuse, 10, moved(500*ms, limits{requestsWorst: 500 * ms}))
	unhealthy("500", "it answers 500", lab.API500, 10, counted)
	unhealthy("403", "it answers 403", lab.API403, 5, counted)
	add("frozen", "it stands still (SIGSTOP)", 10, trial.APIFrozen(5*time.Second), timed)
	unhealthy("hangs", "it takes requests and never answers", lab.APIHang, 10, timed)
	unhealthy("stalls in the handshake", "it takes connections and never speaks TLS", lab.APIHandshake, 5, timed)
	unhealthy("drips", "its answer comes in drops", lab.APIDrip, 5, timed)
	unhealthy("1 GiB body", "its answer has 1 GiB", lab.APIHuge, 5, timed)
	unhealthy("endless headers", "its header has no end", lab.APIHeaders, 5, timed)
	cases = append(cases, noises()...)
	cases = append(cases, together()...)
	cases = append(cases, restored()...)
	return append(cases, benchCase{
		name: "router lost", mode: "the holder cannot reach its router (check `gateway`)", runs: 5, fault: trial.RouterLost(5 * time.Second),
		config: trial.Config{Product: trial.Gatewayed{}}, limits: limits{single: 100, takeovers: 1},
	})
}

// noises must not make the address flap.
func noises() []benchCase {
	const noise, length = "3 of 10 answers are 500, at random, for 5 minutes", 5 * time.Minute
	api := trial.Config{API: true}
	stays := limits{takeovers: noTakeover}
	return []benchCase{
		{name: "apiserver 200 ms slower", mode: "it answers 200 ms late", runs: 5, fault: trial.APIIll(lab.APISlow, "200ms", 5*time.Second), limits: stays, config: api},
		{name: "all apiservers 200 ms slower", mode: "the apiservers of all nodes answer 200 ms late", runs: 2, fault: trial.APIsIll(lab.APISlow, "200ms", 30*time.Second), limits: stays, config: api},
		{name: "apiserver noise 30 %", mode: noise, runs: 1, fault: trial.APIIll(lab.APINoise, "30", length), limits: limits{takeovers: 1}, config: api},
		{name: "noise 30 % on all nodes", mode: noise + ", on all nodes", runs: 1, fault: trial.APIsIll(lab.APINoise, "30", length), limits: limits{takeovers: 6}, config: api},
		{
			name: "apiserver restarts in a loop", mode: "it restarts in a loop (5 s up, 5 s down, for 2 minutes)", runs: 1,
			fault: trial.APILoop(2*time.Minute, 5*time.Second, 5*time.Second), limits: limits{takeovers: 2}, config: api,
		},
	}
}

// together is what befalls all nodes: the address stays, until one is better than its holder.
func together() []benchCase {
	api := trial.Config{API: true}
	stays := limits{outageWorst: 20 * ms, takeovers: noTakeover}
	// It waits recoverHold, and before that for two good probes.
	once := limits{outageWorst: 20 * ms, single: 100, takeovers: 1, vrrpLimits: vrrpLimits{notBefore: 5 * time.Second, answered: 6500 * ms}}
	return []benchCase{
		{name: "apiserver killed on all nodes", mode: "the apiservers of all nodes are killed at once", runs: 20, fault: trial.APIAllKilled, limits: stays, config: api},
		{name: "apiserver killed on all nodes, one comes back", mode: "and that of another node comes back first", runs: 20, fault: trial.APIOneBack, limits: once, config: api},
		{
			name: "etcd lost for 14 s", mode: "etcd has lost its quorum for 14 s; the nodes recover one after the other within 4.5 s", runs: 6,
			fault: trial.EtcdLost(14*time.Second, 4500*ms), limits: limits{outageWorst: 20 * ms, requestsWorst: 50 * ms, takeovers: noTakeover}, config: api,
		},
	}
}

// preemptDelay is long enough to be told from everything else.
const preemptDelay = 3 * time.Second

// restored is what an old holder does whose apiserver is well again.
func restored() []benchCase {
	ranked := trial.Config{API: true, Priorities: []int{200, 150, 100}, Product: trial.Keepvip{Args: []string{"--preempt-delay", preemptDelay.String()}}}
	back := limits{
		outageWorst: 20 * ms, takeovers: 2, passLimits: passLimits{lossless: 96, lost: 3},
		vrrpLimits: vrrpLimits{notBefore: preemptDelay + 250*ms, answered: preemptDelay + 1500*ms},
	}
	return []benchCase{
		{name: "apiserver well again, equal", runs: 5, fault: trial.APIRestored(20 * time.Second), limits: limits{outageWorst: 20 * ms, single: 100, takeovers: 1}, config: trial.Config{API: true}},
		{name: "apiserver well again, 200/150/100, preemptDelay 3 s", runs: 10, fault: trial.APIRestored(8 * time.Second), limits: back, config: ranked},
	}
}
