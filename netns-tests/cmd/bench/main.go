// Command bench measures the faults of a floating address at a client, many
// times each, with keepvip and where it is told with keepalived, and prints
// one table. It needs root and the built binary.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func main() {
	host := lab.Enter()
	if err := run(host, os.Args[1:], os.Stdout); err != nil {
		host.Close()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	host.Close()
}

type options struct {
	runs     int
	only     *regexp.Regexp
	results  string
	timeline bool
}

func run(host *lab.Host, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	runs := flags.Int("runs", 0, "repetitions of every case instead of its own number")
	only := flags.String("only", ".", "run the cases whose \"product: name\" matches this regular expression")
	results := flags.String("json", "", "write every report to this file, one JSON object per line")
	timeline := flags.Bool("timeline", false, "print the timeline of every run")
	soak := flags.Duration("soak", 0, "instead of the table: random faults for this long")
	_ = flags.Parse(args)
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("bench: -only: %w", err)
	}
	if *soak > 0 {
		return runSoak(host, *soak, out)
	}
	return table(host, options{runs: *runs, only: pattern, results: *results, timeline: *timeline}, out)
}

func table(host *lab.Host, o options, out io.Writer) error {
	var rows []trial.Row
	over := 0
	for _, c := range cases() {
		if !o.only.MatchString(c.product().Name() + ": " + c.name) {
			continue
		}
		began := time.Now()
		row, err := c.repeat(host, o)
		if err != nil {
			row.Verdict = "FAILED"
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", c.product().Name(), c.name, err)
		}
		if row.Verdict != "" && row.Verdict != "ok" {
			over++
		}
		fmt.Fprintf(os.Stderr, "%s: %s: %d runs in %v: outage %s ms, takeovers %s, two answering %s ms %s %s\n", row.Product, row.Name, len(row.Results), time.Since(began).Round(time.Second), trial.Of(row.Results, trial.Outage), row.Takeovers(), trial.Of(row.Results, trial.Two), row.Note, row.Verdict)
		rows = append(rows, row)
	}
	if err := trial.Print(out, rows); err != nil {
		return fmt.Errorf("bench: print: %w", err)
	}
	worse, done, err := shows(host, o, out)
	if err != nil {
		return fmt.Errorf("bench: print: %w", err)
	}
	if over += worse; over > 0 {
		return fmt.Errorf("bench: %d of %d cases over their limits or failed", over, len(rows)+done)
	}
	return nil
}

// repeat runs a case on one lab; runs that a stall of the machine spoiled are
// counted and done again, up to half as many as were asked for.
func (c benchCase) repeat(host *lab.Host, o options) (trial.Row, error) {
	row := trial.Row{Name: c.name, Product: c.product().Name()}
	open := c.open
	if open == nil {
		open = func(h *lab.Host) (*trial.Group, error) { return trial.Open(h, c.config) }
	}
	g, err := open(host)
	if err != nil {
		return row, err
	}
	defer func() {
		if g != nil {
			g.Close()
		}
	}()
	want := c.runs
	if o.runs > 0 {
		want = o.runs
	}
	for len(row.Results) < want {
		res, err := c.fault(g)
		if err != nil {
			return row, err
		}
		if c.config.API {
			// A check that flaps is slow to believe in health again: the next run begins with a new group.
			g.Close()
			if g, err = trial.Open(host, c.config); err != nil {
				return row, err
			}
		}
		if err := o.keep(res); err != nil {
			return row, err
		}
		if res.Disturbed() && row.Disturbed < want/2 {
			row.Disturbed++
			continue
		}
		res.Report.Streams, res.Report.Adverts = nil, nil // large, and no longer needed
		row.Results = append(row.Results, res)
	}
	row.Verdict, row.Note = c.limits.judge(row.Results), note(row.Results)
	return row, nil
}

func (o options) keep(res *trial.Result) error {
	if o.timeline {
		fmt.Printf("%s, %s: outage %s ms, takeovers %d\n", res.Product, res.Fault, lab.Milliseconds(res.Outage), res.Takeovers)
		res.Report.Timeline(os.Stdout, res.FaultAt)
	}
	if o.results == "" {
		return nil
	}
	f, err := os.OpenFile(o.results, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("bench: -json: %w", err)
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(res)
}
