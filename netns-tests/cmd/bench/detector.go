package main

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// detectorCases are of `vrrp.detector: fast`: what it finds, and what it costs. What it must not take for a death is a show. What is lost between nodes
// has a row with it and one without.
func detectorCases() []benchCase {
	fast := trial.Config{Product: trial.Fast()}
	v6 := trial.Config{Product: trial.Fast(), Addresses: []netip.Addr{lab.VIP6}}
	five := trial.Config{Product: trial.Fast(), Lab: lab.Config{Nodes: 5}}
	of := func(what string, runs int, c trial.Config, f trial.Fault, l limits) benchCase {
		return benchCase{name: "detector fast, " + what, runs: runs, config: c, fault: f, limits: l}
	}
	dies := limits{outageMedian: 45 * ms, outageWorst: 60 * ms, two: noTwo, takeovers: 1}
	cases := []benchCase{
		of("node death", 50, fast, trial.NodeDeath, dies),
		of("node death, IPv6", 50, v6, trial.NodeDeath, dies),
		of("node death, 5 nodes", 50, five, trial.NodeDeath, dies),
		of("cable pulled", 50, fast, trial.CablePulled, dies),
		of("cable pulled, IPv6", 20, v6, trial.CablePulled, dies),
		of("cable pulled, 5 nodes", 20, five, trial.CablePulled, dies),
		of("kill -9", 20, fast, trial.DaemonKilled, limits{outageMedian: 5 * ms, two: noTwo, takeovers: 1}),
		of("standstill of 10 s (SIGSTOP)", 5, fast, trial.Frozen(10*time.Second), limits{two: noTwo}),
		of("idle", 3, fast, trial.Idle(30*time.Second), limits{takeovers: noTakeover, vrrpLimits: vrrpLimits{cpu: 1.6, rss: 20 << 20}}),
	}
	for _, c := range trial.WayCuts() {
		cases = append(cases, lostCases(c.Name, lab.Config{}, c.For(lostFor))...)
	}
	return slices.Concat(cases,
		lostCases("two of five nodes and the other three are apart, the holder among these", lab.Config{Nodes: 5}, trial.TwoOfFive(false).For(lostFor)),
		lostCases("everything for the holder, of clients too (deaf)", lab.Config{}, trial.ToHolder("deaf", lostFor)),
		lostCases("everything of the holder, for clients too (mute)", lab.Config{}, trial.ToHolder("mute", lostFor)))
}

// lostFor is for how long it is lost: a deaf holder needs most of a second to find out.
const lostFor = 3 * time.Second

// lostRuns is how often each row of the table is measured.
const lostRuns = 5

const plainDetector, fastDetector = "detector plain, ", "detector fast, "

func lostCases(what string, l lab.Config, f trial.Fault) []benchCase {
	return []benchCase{
		{name: plainDetector + what, runs: lostRuns, config: trial.Config{Lab: l}, fault: f, lost: what},
		{name: fastDetector + what, runs: lostRuns, config: trial.Config{Lab: l, Product: trial.Fast()}, fault: f, lost: what},
	}
}

// writeDetector writes the table of what is lost between nodes into its place in a document.
func writeDetector(path string, rows map[string]trial.Row) (err error) {
	defer try.Say(&err, "bench: -detector")
	var lines [][]string
	for _, c := range cases() {
		if c.lost == "" || !strings.HasPrefix(c.name, plainDetector) {
			continue
		}
		line := []string{c.lost}
		for _, detector := range []string{plainDetector, fastDetector} {
			row := rows[c.product().Name()+": "+detector+c.lost]
			line = append(line, trial.Of(row.Results, trial.Outage).Rounded(), row.Takeovers(), trial.Of(row.Results, trial.Two).Rounded())
		}
		lines = append(lines, line)
	}
	head := []string{"what is lost for 3 s", "plain: silent", "moves", "two answer", "fast: silent", "moves", "two answer"}
	return putMeasured(path, "bench-detector", "\n"+markdown(head, lines)+"\n")
}
