package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// passLimits are those of a move on purpose; the zero value means none.
type passLimits struct {
	lossless int  // at least so many per cent of the runs without a lost probe
	lost     int  // at most so many lost probes of one client and address; counts with lossless
	alone    bool // one node at a time answers ARP or ND; lossless demands that, too
	rolling  bool // no request is refused or timed out, and two at most are reset at each move
	// A mishap: clients are answered for good within this time, and two answer ARP or ND for so long at most; after the
	// network is whole again, for so long.
	recovered, finders, healing time.Duration
}

func (l passLimits) over(r *trial.Result) string {
	within := func(got, limit time.Duration, format string) string {
		return over(l.recovered > 0 && got > limit, format+", limit %s (%s)", lab.Milliseconds(got), lab.Milliseconds(limit), r.Fault)
	}
	return cmp.Or(
		within(r.Recovered, l.recovered, "one holder again after %s ms"), within(r.Finders, l.finders, "two answer ARP or ND for %s ms"),
		within(r.Healing, l.healing, "two answer ARP or ND for %s ms after the network is whole again"),
		over(l.rolling && r.MovesMost > 1, "%d moves for one node", r.MovesMost),
		over(l.rolling && (r.Failed > 0 || r.FailedTwice > 0 || r.Resets > 2*r.Takeovers), "%d requests refused or timed out, %d reset in %d moves, %d failed again",
			r.Failed, r.Resets, r.Takeovers, r.FailedTwice),
		over(l.lossless > 0 && r.LostMost > l.lost, "%d probes lost, limit %d", r.LostMost, l.lost),
		over((l.alone || l.lossless > 0) && r.Finders > 0, "two answer ARP or ND for %s ms", lab.Milliseconds(r.Finders)),
	)
}

// passCases move the address on purpose, with a client on the link and one behind a router, which probe IPv4 and IPv6.
func passCases() []benchCase {
	promised := limits{two: 20 * ms, takeovers: 1, passLimits: passLimits{lossless: 96, lost: 3}}
	dual, v6 := []netip.Addr{lab.VIP4, lab.VIP6}, []netip.Addr{lab.VIP6}
	var cases []benchCase
	for _, interval := range []time.Duration{100 * ms, time.Second} {
		for _, move := range []struct {
			name  string
			fault trial.Fault
		}{{"handover", trial.Verb("handover")}, {"drain", trial.Verb("drain")}, {"SIGTERM passes on", trial.Terminated}} {
			for _, family := range []struct {
				name      string
				addresses []netip.Addr
			}{{"dual stack", dual}, {"IPv6", v6}} {
				cases = append(cases, benchCase{
					name: fmt.Sprintf("%s, %s, %v", move.name, family.name, interval), runs: 50, fault: move.fault, limits: promised,
					config: trial.Config{Interval: interval, Addresses: family.addresses, Lab: lab.Config{OffLink: true}},
				})
			}
		}
	}
	rolled := limits{outageWorst: 20 * ms, takeovers: 3, passLimits: passLimits{rolling: true}}
	cases = append(append(cases, mishapCases()...), nextIsKeepalived()...)
	return append(
		cases,
		benchCase{
			name: "handover while others change rule sets", runs: 10, fault: trial.Verb("handover"),
			open: trial.OpenBesideRuleSets(trial.Config{Addresses: dual}), limits: limits{two: 20 * ms, takeovers: 1, passLimits: passLimits{lost: 3}},
		},
		benchCase{name: "rolling restart of keepvip", runs: 5, fault: trial.RollingDaemons, limits: rolled, config: trial.Config{API: true}},
		benchCase{name: "rolling restart of the apiservers", runs: 5, fault: trial.RollingAPIServers, limits: rolled, config: trial.Config{API: true}},
	)
}

// mishapCases let the exchange go wrong at each step, and anywhere.
func mishapCases() []benchCase {
	cfg := trial.Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}}
	// An Active_Down_Interval with the tie-break delay of equal nodes, and what it takes to bind and announce.
	within := func(plain bool) limits {
		l := limits{passLimits: passLimits{recovered: 400 * ms, healing: 120 * ms}}
		if plain {
			l.finders = 20 * ms
		}
		return l
	}
	var cases []benchCase
	for _, m := range trial.Mishaps() {
		cases = append(cases, benchCase{name: "passing on: " + m.Name, runs: 5, config: cfg, fault: m.Fault, limits: within(m.Plain)})
	}
	return append(cases, benchCase{name: "passing on: anything, anywhere", runs: 100, config: cfg, fault: trial.RandomMishap, limits: within(true)})
}

// nextIsKeepalived stops the holder with SIGTERM when keepalived is the next one: plain VRRP, so beside the same among keepalived.
func nextIsKeepalived() []benchCase {
	var cases []benchCase
	for _, interval := range []time.Duration{100 * ms, time.Second} {
		config := func(holder trial.Runner) trial.Config {
			return trial.Config{
				Product:    trial.PerNode{Runners: []trial.Runner{holder, trial.RunKeepalived, trial.RunKeepalived}},
				Priorities: []int{200, 150, 100}, Interval: interval,
			}
		}
		own, other := config(trial.RunKeepvip), config(trial.RunKeepalived)
		next := trial.Router{Settings: trial.Settings{Priority: 150, Interval: interval}}
		against := fmt.Sprintf("SIGTERM, keepalived to keepalived, %v", interval)
		cases = append(
			cases,
			benchCase{name: against, runs: 10, config: other, open: sharedVRID(other), fault: trial.Terminated},
			benchCase{
				name: fmt.Sprintf("SIGTERM, keepvip to keepalived, %v", interval), runs: 10, config: own, open: sharedVRID(own), fault: trial.Terminated,
				against: against, limits: limits{outageWorst: next.SkewTime() + 30*ms, takeovers: 1},
			},
		)
	}
	return cases
}
