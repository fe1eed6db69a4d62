package main

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// hostCases are what happens to the host under the address. The limit of each is what the docs promise, and the soak judges by the same.
func hostCases() []benchCase {
	const length = 5 * time.Second
	dual := trial.Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}}
	other := trial.Config{Product: trial.Keepalived{}}
	stays := limits{outageWorst: 20 * ms, takeovers: noTakeover, two: noTwo}
	return []benchCase{
		{
			name: "deaf holder", mode: "nothing arrives at the holder any more, and what it sends does, for 5 s", runs: 10,
			fault: trial.ToHolder("deaf", length), limits: limits{outageWorst: time.Second, takeovers: 2, two: 200 * ms},
		},
		{name: "deaf holder", runs: 3, fault: trial.ToHolder("deaf", length), config: other},
		{
			name: "deaf backup", mode: "nothing arrives at another node any more, whose address is the highest, for 5 s", runs: 10,
			fault: trial.ToBackup("deaf", length), limits: stays,
		},
		{name: "deaf backup", runs: 3, fault: trial.ToBackup("deaf", length), config: other},
		{name: "ruleset flushed", mode: "all nftables rules of the holder are flushed", runs: 5, fault: trial.ToHolder("ruleset flushed", time.Second), config: dual, limits: stays},
		{name: "MAC changed", mode: "the holder's NIC gets another MAC address", runs: 5, fault: trial.ToHolder("MAC changed", time.Second), config: dual, limits: stays},
		{
			name: "own address applied again", mode: "the holder's own addresses are deleted, and added again immediately", runs: 5,
			fault: trial.ToHolder("own address applied again", time.Second), config: dual, limits: stays,
		},
		{
			name: "IPv6 off", mode: "IPv6 is switched off on the holder of addresses of both families", runs: 5, fault: trial.ToHolder("IPv6 off", time.Second), config: dual,
			limits: limits{outageWorst: 400 * ms, takeovers: 1, two: 100 * ms},
		},
	}
}
