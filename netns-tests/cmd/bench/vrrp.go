package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// vrrpLimits are further limits; zero means none.
type vrrpLimits struct {
	cpu         float64       // per cent of one core
	rss         int64         // octets
	answered    time.Duration // at worst
	notBefore   time.Duration // answered at the earliest
	lastIsTaker bool          // the last announcement on the wire is the one of the node that holds
	turns       int           // two advertise in turn, at most: see [lab.Report.Rivalry]
}

// mostTurns are those of two or three that begin at a time, and of those that yield.
const mostTurns = 8

func (l vrrpLimits) over(r *trial.Result) string {
	turns := 0
	if l.turns > 0 && r.Report != nil {
		turns = r.Report.Rivalry(r.FaultAt, r.Report.Ended)
	}
	return cmp.Or(
		over(l.cpu > 0 && r.CPU > l.cpu, "CPU %.1f %%, limit %.1f", r.CPU, l.cpu),
		over(l.rss > 0 && r.RSS > l.rss, "RSS %.1f MiB, limit %.1f", mib(r.RSS), mib(l.rss)),
		over(l.answered > 0 && r.Answered > l.answered, "answered after %s ms, limit %s", lab.Milliseconds(r.Answered), lab.Milliseconds(l.answered)),
		over(r.Answered < l.notBefore, "answered after %s ms, not before %s", lab.Milliseconds(r.Answered), lab.Milliseconds(l.notBefore)),
		over(l.lastIsTaker && r.Announcer != r.Taker, "n%d announced last, n%d holds", r.Announcer, r.Taker),
		over(turns > l.turns, "two advertise in turn, %d times, limit %d", turns, l.turns),
	)
}

func mib(octets int64) float64 { return float64(octets) / (1 << 20) }

// note gathers the figures that have no column: the worst CPU and RSS, and what
// the runs themselves say.
func note(results []*trial.Result) string {
	var cpu float64
	var rss int64
	var parts []string
	for _, r := range results {
		cpu, rss = max(cpu, r.CPU), max(rss, r.RSS)
		if r.Note != "" && !slices.Contains(parts, r.Note) {
			parts = append(parts, r.Note)
		}
	}
	if cpu > 0 {
		parts = append(parts, fmt.Sprintf("CPU %.1f %%", cpu))
	}
	if rss > 0 {
		parts = append(parts, fmt.Sprintf("RSS %.1f MiB", mib(rss)))
	}
	return strings.Join(parts, "; ")
}

// sharedVRID opens a group on a VRID that a sender of junk can know.
func sharedVRID(cfg trial.Config) func(*lab.Host) (*trial.Group, error) {
	return func(h *lab.Host) (*trial.Group, error) { return trial.OpenMixed(h, cfg) }
}

// vrrpCases is what the protocol promises: after a heal, under loss and junk,
// with many instances, starved, and beside other routers.
func vrrpCases() []benchCase {
	return slices.Concat(healCases(), lossCases(), junkCases(), clockCases(), idleCases(), manyCases(), mixedCases(), []benchCase{
		{name: "10 ms, short tasks on both cores", runs: 1, fault: trial.Starved(4, 5*time.Minute), config: trial.Config{Interval: 10 * ms, Product: trial.Beside{}}},
		{
			name: "10 ms, short tasks on both cores, realtime", runs: 1, fault: trial.Starved(4, 5*time.Minute), limits: limits{takeovers: noTakeover},
			config: trial.Config{Interval: 10 * ms, Product: trial.Beside{Keepvip: trial.Keepvip{Args: []string{"--realtime"}}}},
		},
	})
}

// healCases cut the holder off for 10 s. With equal priorities both the lowest
// address, which yields, and the highest, which stays, are cut off.
func healCases() []benchCase {
	ranked := []int{200, 150, 100}
	far := lab.Config{OffLink: true}
	var cases []benchCase
	for _, c := range []struct {
		interval time.Duration
		runs     int
	}{{100 * ms, 20}, {time.Second, 10}} {
		promised := limits{outageWorst: 50 * ms, two: c.interval + 20*ms, vrrpLimits: vrrpLimits{turns: mostTurns}}
		name := func(what string) string { return fmt.Sprintf("heal after 10 s, %s, %v", what, c.interval) }
		cases = append(
			cases,
			benchCase{name: name("200/150/100"), runs: c.runs, fault: trial.Heal(10*time.Second, 0), config: trial.Config{Interval: c.interval, Priorities: ranked, Lab: far}, limits: promised},
			benchCase{name: name("equal, low address cut off"), runs: c.runs, fault: trial.Heal(10*time.Second, 1), config: trial.Config{Interval: c.interval, Lab: far}, limits: promised},
			benchCase{name: name("equal, high address cut off"), runs: c.runs, fault: trial.Heal(10*time.Second, 3), config: trial.Config{Interval: c.interval, Lab: far}, limits: promised},
			benchCase{name: name("200/150/100"), runs: 5, fault: trial.Heal(10*time.Second, 0), config: trial.Config{Interval: c.interval, Priorities: ranked, Lab: far, Product: trial.Keepalived{}}},
		)
	}
	return cases
}

func lossCases() []benchCase {
	var cases []benchCase
	for percent, worst := range map[int]time.Duration{20: 150 * ms, 40: 400 * ms} {
		name := fmt.Sprintf("%d %% of protocol 112 lost, 60 s", percent)
		cases = append(
			cases,
			benchCase{name: name, runs: 5, fault: trial.Lossy(percent, time.Minute), limits: limits{outageWorst: worst}},
			benchCase{name: name, runs: 2, fault: trial.Lossy(percent, time.Minute), config: trial.Config{Product: trial.Keepalived{}}},
		)
	}
	slices.SortFunc(cases, func(a, b benchCase) int { return strings.Compare(a.name, b.name) })
	return cases
}

func junkCases() []benchCase {
	var cases []benchCase
	for _, kind := range append(trial.JunkKinds(), trial.JunkMixed) {
		cases = append(cases, benchCase{
			name: "20,000 junk packets/s, " + kind, runs: 1, fault: trial.Junk(kind, 20_000, 20*time.Second), open: sharedVRID(trial.Config{}),
			limits: limits{outageWorst: 20 * ms, takeovers: noTakeover, vrrpLimits: vrrpLimits{cpu: 15}},
		})
	}
	for _, kind := range trial.Attacks() {
		cases = append(cases, benchCase{
			name: "with a key, 1,000/s: " + kind, runs: 1, fault: trial.Attack(kind, 10*time.Second), open: sharedVRID(trial.Config{Product: trial.Keyed{}}),
			limits: limits{outageWorst: 20 * ms, takeovers: noTakeover},
		})
	}
	return cases
}

// clockCases have a key, for which the nodes compare their wall clocks.
func clockCases() []benchCase {
	// Behind, not ahead: the kernel's timestamps keep the machine's clock, and a packet must not look old.
	apart := trial.Config{Product: trial.Keyed{Ahead: []time.Duration{0, -8 * time.Second, -4 * time.Second}}}
	own := trial.Config{Product: trial.Keyed{Ahead: make([]time.Duration, 3)}}
	return []benchCase{
		{name: "clocks 8 s apart, with a key: all start together", runs: 10, fault: trial.BootTogether, config: apart, limits: limits{outageWorst: 20 * ms, two: noTwo, takeovers: noTakeover}},
		{name: "clocks 8 s apart, with a key: node death", runs: 5, fault: trial.NodeDeath, config: apart, limits: limits{outageWorst: 450 * ms, takeovers: 1}},
		{name: "clock stepped by 1 h, with a key", runs: 3, fault: trial.StepClocks(time.Hour, 3*time.Second), config: own, limits: limits{outageWorst: 20 * ms, takeovers: noTakeover}},
	}
}

// idleCases are what a node gives up for good.
func idleCases() []benchCase {
	idle := func(name string, c trial.Config, l vrrpLimits) benchCase {
		return benchCase{name: "idle, " + name, runs: 3, fault: trial.Idle(30 * time.Second), config: c, limits: limits{takeovers: noTakeover, vrrpLimits: l}}
	}
	return []benchCase{
		idle("100 ms", trial.Config{}, vrrpLimits{cpu: 1, rss: 20 << 20}),
		idle("a check", trial.Config{API: true}, vrrpLimits{cpu: 1.5, rss: 20 << 20}),
		idle("raft", trial.RaftConfig(trial.Raft{}), vrrpLimits{cpu: 1, rss: 35 << 20}),
	}
}

func manyCases() []benchCase {
	open := func(run trial.Runner) func(*lab.Host) (*trial.Group, error) {
		return func(h *lab.Host) (*trial.Group, error) { return trial.OpenMany(h, run, 255, time.Second) }
	}
	promised := limits{vrrpLimits: vrrpLimits{cpu: 3, rss: 40 << 20, answered: 3700 * ms}}
	return []benchCase{
		{name: "255 instances, 1 s", runs: 2, fault: trial.ManyDie(20 * time.Second), open: open(trial.RunKeepvip), limits: promised},
		{name: "255 instances, 1 s", runs: 2, fault: trial.ManyDie(20 * time.Second), open: open(trial.RunKeepalived), config: trial.Config{Product: trial.Keepalived{}}},
	}
}

// mixedCases replace a group of keepalived by keepvip and back. Takeovers are
// those of all six replacements: two at each of the holder's.
func mixedCases() []benchCase {
	guide := trial.KubeadmGuide(trial.RunKeepalived)
	return []benchCase{{
		name: "kubeadm guide's group replaced and back", runs: 3, config: guide, open: sharedVRID(guide), fault: trial.ReplaceAll,
		limits: limits{outageWorst: 800 * ms, two: 20 * ms, takeovers: 4},
	}}
}
