package main

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// silence says that a holder which lost its daemon must be silent after its lease,
// and for how long its addresses may stay bound.
type silence struct {
	wanted bool
	gone   time.Duration
}

func (s silence) over(r *trial.Result) string {
	said := r.Silence
	switch {
	case !s.wanted:
		return ""
	case said == nil:
		return "FAILED: nothing was watched"
	}
	return cmp.Or(
		over(said.Late > 0, "%d frames after the lease (%s)", said.Late, r.Note),
		over(said.Woken > 0, "%d announcements after waking", said.Woken),
		over(s.gone > 0 && (said.Gone < 0 || said.Gone > s.gone), "the address was gone after %v, limit %v", said.Gone, s.gone),
	)
}

// fenceCases are the faults after which the kernel has to silence the address.
func fenceCases() []benchCase {
	dual := []netip.Addr{lab.VIP4, lab.VIP6}
	quick := trial.Config{Addresses: dual}
	slow := trial.Config{Addresses: dual, Interval: time.Second}
	const gone = 5 * time.Second // the lifetime of the address, and a second
	quiet := func(outage time.Duration) limits {
		return limits{outageWorst: outage, two: noTwo, silence: silence{wanted: true, gone: gone}, vrrpLimits: vrrpLimits{turns: mostTurns}}
	}
	// The kill comes in the midst of a handover, when the former holder serves clients that know it: as in each handover, one of two answers ARP.
	passing := quiet(120 * ms)
	passing.two, passing.alone = 20*ms, true
	return []benchCase{
		{name: "kill -9 for good", mode: "keepvip is killed (SIGKILL)", runs: 20, config: quick, fault: trial.KilledForGood, limits: quiet(120 * ms)},
		{name: "kill -9 for good, IPv4", runs: 20, fault: trial.KilledForGood, limits: quiet(120 * ms)},
		{name: "kill -9 for good, IPv6", runs: 20, config: trial.Config{Addresses: []netip.Addr{lab.VIP6}}, fault: trial.KilledForGood, limits: quiet(120 * ms)},
		{name: "kill -9 for good, 25 entries", runs: 10, open: openEntries, fault: trial.KilledForGood, limits: quiet(120 * ms)},
		{name: "kill -9 for good, lifelines' ends lost", runs: 10, config: quick, fault: trial.KilledUnheard, limits: quiet(450 * ms)},
		{name: "kill -9 during a handover", runs: 20, config: quick, fault: trial.KilledPassingOn(), limits: passing},
		{name: "kill -9 for good, 1 s", runs: 5, config: slow, fault: trial.KilledForGood, limits: quiet(1200 * ms)},
		{name: "SIGSTOP for 10 s", mode: "keepvip stands still for 10 s (SIGSTOP)", runs: 20, config: quick, fault: trial.Silenced("SIGSTOP", trial.BySignal, 10*time.Second), limits: quiet(120 * ms)},
		{name: "stopped by a debugger for 5 s", runs: 5, config: quick, fault: trial.Silenced("ptrace", trial.ByDebugger, 5*time.Second), limits: quiet(120 * ms)},
		{name: "cgroup frozen for 5 s", runs: 5, config: quick, fault: trial.Silenced("cgroup freezer", trial.ByFreezer, 5*time.Second), limits: quiet(120 * ms)},
	}
}

// openEntries opens a group with 25 entries, each with an address.
func openEntries(host *lab.Host) (*trial.Group, error) {
	return trial.OpenMany(host, trial.RunKeepvip, 25, 100*ms)
}
