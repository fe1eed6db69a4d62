package main

import (
	"fmt"
	"slices"

	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// writeFailures writes the table of the page from the results of the cases that have a place in it.
func writeFailures(path string, rows map[string]trial.Row) (err error) {
	defer try.Say(&err, "bench: -failure-modes")
	var lines [][]string
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
		lines = append(lines, []string{c.mode, runs, trial.Of(results, trial.Seen).Rounded(), trial.Of(results, trial.Outage).Rounded(), failing, moves})
	}
	head := []string{"what happens", "runs", "seen after", "address silent", "requests failing", "moves"}
	return putMeasured(path, "failure-modes", "\n"+markdown(head, lines)+"\n")
}

// asked tells that requests were made: without any there is nothing to tell of them.
func asked(results []*trial.Result) bool {
	return !slices.ContainsFunc(results, func(r *trial.Result) bool { return r.Report == nil || len(r.Report.HTTPS) == 0 })
}

// key names a case with its product.
func (c benchCase) key() string { return c.product().Name() + ": " + c.name }
