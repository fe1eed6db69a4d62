package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// failuresHead is what stands above the table of failure modes.
const failuresHead = `# Failure modes

What a client loses, and when keepvip sees it. ` + "`make failure-modes`" + ` measures this page and writes it: three nodes of equal
priority, a client and a bridge in network namespaces on one machine with two cores, everything at its default, advertisements
every 100 ms. Figures are milliseconds, the median with the least and the most of all runs.

- **Seen after**: from the fault until the holder's own check has fallen; where the holder itself is what broke, until another node has
  taken the address.
- **Address silent**: the longest time in which the address answered nobody, one probe each millisecond. Where keepvip alone is killed or
  stands still, the kernel answers until the lease is over (290 ms after the last advertisement), and nobody from then until the next
  node has the address.
- **Requests failing**: the longest time in which new HTTPS connections through the address failed, one every 10 ms, to the apiserver
  of whoever holds it; "-" where that was not measured.
- **Moves**: how often the address moved.
- **Runs** in which the machine itself stood still for more than 20 ms are left out of the figures, and counted as such.

What "seen" means for each kind of check is in [health checks](health.md), and what bounds the time of a takeover in
[measurements](measurements.md).

| what happens | runs | seen after | address silent | requests failing | moves |
|---|---|---|---|---|---|
`

// writeFailures writes the page from the results of the cases that have a place in it.
func writeFailures(path string, rows map[string]trial.Row) error {
	var b strings.Builder
	b.WriteString(failuresHead)
	for _, c := range cases() {
		row := rows[c.key()]
		results := row.Results
		if c.mode == "" || len(results)+len(row.LeftOut) == 0 {
			continue
		}
		runs, moves := fmt.Sprint(len(results)), row.Takeovers()
		if len(row.LeftOut) > 0 {
			runs += fmt.Sprintf(" (%d more left out)", len(row.LeftOut))
		}
		if len(results) == 0 {
			moves = "-"
		}
		failing := "-"
		if c.config.API && asked(results) {
			failing = trial.Of(results, trial.HTTPS).Rounded()
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", c.mode, runs, trial.Of(results, trial.Seen).Rounded(), trial.Of(results, trial.Outage).Rounded(), failing, moves)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("bench: -failure-modes: %w", err)
	}
	return nil
}

// asked tells that requests were made: without any there is nothing to tell of them.
func asked(results []*trial.Result) bool {
	for _, r := range results {
		if r.Report == nil || len(r.Report.HTTPS) == 0 {
			return false
		}
	}
	return true
}

// key names a case with its product.
func (c benchCase) key() string { return c.product().Name() + ": " + c.name }
