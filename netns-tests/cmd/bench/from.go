package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// fromResults prints the table of earlier runs, or writes that of failure modes from them. Cases that were never run are
// named on standard error.
func fromResults(path string, o options, out io.Writer) (err error) {
	defer try.Catch(&err)
	results := try.Get(readResults(path))
	var rows []trial.Row
	var counted count
	var missing []string
	for _, c := range cases() {
		row := results[c.key()]
		switch {
		case !o.wants(c):
		case len(row.Results)+len(row.LeftOut) == 0:
			missing = append(missing, c.key())
		default:
			row.Name, row.Product = c.name, c.product().Name()
			rows = append(rows, c.judged(row))
			counted.add(rows[len(rows)-1].Verdict)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(os.Stderr, "bench: %s has no results of %s\n", path, strings.Join(missing, "; "))
	}
	if o.page != nil {
		return o.page.write(o.page.path, results)
	}
	if err := trial.Print(out, rows); err != nil {
		return fmt.Errorf("bench: print: %w", err)
	}
	fmt.Fprintln(out, counted)
	return nil
}

// readResults reads what -json has written, by case.
func readResults(path string) (map[string]trial.Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("bench: -from: %w", err)
	}
	defer f.Close()
	rows := map[string]trial.Row{}
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
		row := rows[r.Product+": "+r.Case]
		row.Add(&r)
		rows[r.Product+": "+r.Case] = row
	}
}
