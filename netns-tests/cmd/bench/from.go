package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// fromResults prints the table of earlier runs, or writes that of failure modes from them. Cases that were never run are
// named on standard error.
func fromResults(path string, o options, out io.Writer) error {
	results, err := readResults(path)
	if err != nil {
		return err
	}
	var rows []trial.Row
	var missing []string
	for _, c := range cases() {
		switch {
		case !o.wants(c):
		case len(results[c.key()]) == 0:
			missing = append(missing, c.key())
		default:
			rows = append(rows, c.judged(trial.Row{Name: c.name, Product: c.product().Name(), Results: results[c.key()]}))
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(os.Stderr, "bench: %s has no results of %s\n", path, strings.Join(missing, "; "))
	}
	if o.failures != "" {
		return writeFailures(o.failures, results)
	}
	if err := trial.Print(out, rows); err != nil {
		return fmt.Errorf("bench: print: %w", err)
	}
	return nil
}

// readResults reads what -json has written, by case. Runs that a stall of the machine spoiled are left out.
func readResults(path string) (map[string][]*trial.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("bench: -from: %w", err)
	}
	defer f.Close()
	rows := map[string][]*trial.Result{}
	for in := json.NewDecoder(bufio.NewReader(f)); ; {
		var r trial.Result
		switch err := in.Decode(&r); {
		case err == io.EOF:
			return rows, nil
		case err != nil:
			return nil, fmt.Errorf("bench: -from: %s: %w", path, err)
		}
		if r.Report != nil {
			r.Report.Streams, r.Report.Adverts = nil, nil // large, and not needed
		}
		if !r.Disturbed() {
			rows[r.Product+": "+r.Case] = append(rows[r.Product+": "+r.Case], &r)
		}
	}
}
