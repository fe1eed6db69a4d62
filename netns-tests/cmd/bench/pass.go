package main

import (
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
	rolling  bool // no request is refused or timed out, and two at most are reset at each move
}

func (l passLimits) judge(results []*trial.Result) string {
	for _, r := range results {
		if l.rolling && (r.Failed > 0 || r.Resets > 2*r.Takeovers) {
			return fmt.Sprintf("OVER: %d requests refused or timed out, %d reset in %d moves", r.Failed, r.Resets, r.Takeovers)
		}
	}
	if l.lossless == 0 {
		return ""
	}
	clean := 0
	for _, r := range results {
		switch {
		case r.LostMost > l.lost:
			return fmt.Sprintf("OVER: %d probes lost, limit %d", r.LostMost, l.lost)
		case r.Finders > 0:
			return fmt.Sprintf("OVER: two answer ARP or ND for %s ms", lab.Milliseconds(r.Finders))
		case r.LostMost == 0:
			clean++
		}
	}
	if clean*100 < l.lossless*len(results) {
		return fmt.Sprintf("OVER: %d of %d runs without a lost probe", clean, len(results))
	}
	return ""
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
	return append(
		cases,
		benchCase{name: "rolling restart of keepvip", runs: 5, fault: trial.RollingDaemons, limits: rolled, config: trial.Config{API: true}},
		benchCase{name: "rolling restart of the apiservers", runs: 5, fault: trial.RollingAPIServers, limits: rolled, config: trial.Config{API: true}},
	)
}
