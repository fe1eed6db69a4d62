package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// benchCase is one fault with one product, repeated.
type benchCase struct {
	name   string
	runs   int
	config trial.Config
	fault  trial.Fault
	limits limits
	open   func(*lab.Host) (*trial.Group, error) // nil = trial.Open with config
	mode   string                                // what happens, in the table of failure modes; "" keeps it out
	lost   string                                // what is lost, in the table of the detector; "" keeps it out
	// against is the name of a case before this one, which it must not be slower than: in its median outage, by 5 ms.
	against string
}

// slower compares a row with the one that it is measured against, if that was run.
func (c benchCase) slower(row trial.Row, rows []trial.Row) string {
	const room = 5 * ms
	for _, other := range rows {
		got, limit := trial.Of(row.Results, trial.Outage).Median, trial.Of(other.Results, trial.Outage).Median+room
		if c.against == other.Name && len(other.Results) > 0 && got > limit {
			return fmt.Sprintf("OVER: median outage %s ms, %s has %s", lab.Milliseconds(got), other.Name, lab.Milliseconds(limit-room))
		}
	}
	return ""
}

func (c benchCase) product() trial.Product {
	if c.config.Product == nil {
		return trial.Keepvip{}
	}
	return c.config.Product
}

// limits are what a case must stay within; zero means no limit.
type limits struct {
	outageMedian, outageWorst     time.Duration
	requestsMedian, requestsWorst time.Duration
	excessMedian, announceMedian  time.Duration
	seen                          time.Duration // at worst
	two                           time.Duration // noTwo demands none
	takeovers                     int           // at most; noTakeover demands none
	single                        int           // at least so many per cent with one takeover
	silence                       silence
	vrrpLimits
	passLimits
}

const (
	noTwo      = -1
	noTakeover = -1
)

// over is the verdict where something is over its limit, "" where it is not.
func over(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return "OVER: " + fmt.Sprintf(format, args...)
}

func (l limits) judge(results []*trial.Result) string {
	within := func(what string, got, limit time.Duration) string {
		return over(limit > 0 && got > limit, "%s %s ms, limit %s", what, lab.Milliseconds(got), lab.Milliseconds(limit))
	}
	two := l.two
	if two == noTwo {
		two = 1
	}
	each, single, clean := "", 0, 0
	for _, r := range results {
		if r.Takeovers == 1 {
			single++
		}
		if r.LostMost == 0 {
			clean++
		}
		each = cmp.Or(
			each, l.vrrpLimits.over(r), l.silence.over(r), l.passLimits.over(r),
			over(l.takeovers > 0 && r.Takeovers > l.takeovers || l.takeovers == noTakeover && r.Takeovers > 0, "%d takeovers", r.Takeovers),
		)
	}
	outage, https := trial.Of(results, trial.Outage), trial.Of(results, trial.HTTPS)
	verdict := cmp.Or(
		within("median outage", outage.Median, l.outageMedian),
		within("worst outage", outage.Max, l.outageWorst),
		within("median of failing requests", https.Median, l.requestsMedian),
		within("worst of failing requests", https.Max, l.requestsWorst),
		within("beyond protocol", trial.Of(results, trial.Excess).Median, l.excessMedian),
		within("seen after", trial.Of(results, trial.Seen).Max, l.seen),
		within("bind to announce", trial.Of(results, trial.Announce).Median, l.announceMedian),
		within("two answering", trial.Of(results, trial.Two).Max, two),
		each,
		over(clean*100 < l.lossless*len(results), "%d of %d runs without a lost probe", clean, len(results)),
		over(l.single > 0 && single*100 < l.single*len(results), "%d of %d with one takeover", single, len(results)),
	)
	if verdict == "" && l != (limits{}) {
		return "ok"
	}
	return verdict
}

const ms = time.Millisecond

// cases lists what is measured. Limits are keepvip's promises; keepalived runs
// beside it where it can do the same.
func cases() []benchCase {
	var (
		ranked = []int{200, 150, 100}
		v4     = []netip.Addr{lab.VIP4}
		v6     = []netip.Addr{lab.VIP6}
		dual   = []netip.Addr{lab.VIP4, lab.VIP6}
		other  = trial.Keepalived{}
	)
	death := func(name string, runs int, cfg trial.Config, l limits) benchCase {
		return benchCase{name: "node death, " + name, runs: runs, config: cfg, fault: trial.NodeDeath, limits: l}
	}
	// An equal group may add a tie-break delay of an eighth of the interval.
	equal := limits{outageMedian: 345 * ms, outageWorst: 450 * ms, excessMedian: 15*ms + 12500*time.Microsecond, announceMedian: 2 * ms, single: 96, vrrpLimits: vrrpLimits{turns: mostTurns, lastIsTaker: true}}
	dies := death("equal", 50, trial.Config{}, equal)
	dies.mode = "the holder dies"
	return append([]benchCase{
		death("200/150/100", 20, trial.Config{Priorities: ranked}, limits{outageMedian: 325 * ms, outageWorst: 420 * ms, excessMedian: 15 * ms, announceMedian: 2 * ms, takeovers: 1, vrrpLimits: vrrpLimits{turns: mostTurns}}),
		death("200/150/100", 20, trial.Config{Priorities: ranked, Product: other}, limits{}),
		dies,
		death("equal", 20, trial.Config{Product: other}, limits{}),
		death("equal, IPv4", 10, trial.Config{Addresses: v4}, equal),
		death("equal, IPv6", 10, trial.Config{Addresses: v6}, equal),
		death("equal, dual stack", 10, trial.Config{Addresses: dual}, equal),
		death("200/150/100, 1 s", 5, trial.Config{Priorities: ranked, Interval: time.Second}, limits{outageWorst: 3700 * ms, takeovers: 1}),
		death("200/150/100, 1 s", 5, trial.Config{Priorities: ranked, Interval: time.Second, Product: other}, limits{}),
		{name: "SIGTERM", mode: "keepvip is told to end (SIGTERM)", runs: 10, fault: trial.Terminated, limits: limits{outageWorst: 150 * ms, takeovers: 1}},
		{name: "SIGTERM", runs: 10, fault: trial.Terminated, config: trial.Config{Product: other}},
		{name: "kill -9 and restart", runs: 10, fault: trial.DaemonRestarted, limits: limits{outageWorst: 450 * ms}},
		{name: "kill -9 and restart", runs: 5, fault: trial.DaemonRestarted, config: trial.Config{Product: other}},
		{name: "cable pulled", mode: "the holder's cable is pulled", runs: 10, fault: trial.CablePulled, limits: limits{outageMedian: 345 * ms, outageWorst: 450 * ms}},
		{name: "cable pulled", runs: 5, fault: trial.CablePulled, config: trial.Config{Product: other}},
		{ // it waits as long as the checks of kubeadm's guide take
			name: "apiserver killed", runs: 2, fault: trial.APIIll(lab.APIRefuse, "", 45*time.Second),
			config: trial.Config{API: true, Product: other, Interval: time.Second, Priorities: []int{101, 100, 100}},
		},
		{name: "partition 10 s and heal", mode: "the holder is cut off for 10 s", runs: 5, fault: trial.Partition(10 * time.Second)},
		{name: "partition 10 s and heal", runs: 5, fault: trial.Partition(10 * time.Second), config: trial.Config{Product: other}},
	}, slices.Concat(hostCases(), fenceCases(), vrrpCases(), passCases(), modes(), raftCases(), drillCases(), detectorCases())...)
}
