// Command bench measures the faults of a floating address at a client, many
// times each, with keepvip and where it is told with keepalived, and prints
// one table. It needs root and the built binary.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
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
	side     int // cases of shows at once
	only     *regexp.Regexp
	length   time.Duration // of each disturbance that must move nothing; 0: as long as the promise says
	results  string
	timeline bool
	page     *page // run only what it has, and write it
}

// page is a document, or a part of one, that the bench writes.
type page struct {
	path  string
	has   func(benchCase) bool
	write func(path string, rows map[string]trial.Row) error
}

// pageOf is the page that the flags name; nil for none.
func pageOf(failures, detector string) *page {
	switch {
	case failures != "":
		return &page{failures, func(c benchCase) bool { return c.mode != "" }, writeFailures}
	case detector != "":
		return &page{detector, func(c benchCase) bool { return c.lost != "" }, writeDetector}
	}
	return nil
}

// wants tells whether a case is to be run.
func (o options) wants(c benchCase) bool {
	return o.only.MatchString(c.key()) && (o.page == nil || o.page.has(c))
}

func run(host *lab.Host, args []string, out io.Writer) error {
	var o options
	var k soak
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&o.runs, "runs", 0, "repetitions of every case instead of its own number")
	only := flags.String("only", ".", "run the cases whose \"product: name\" matches this regular expression")
	flags.IntVar(&o.side, "side-by-side", 1, "run so many cases of a show at once, each in a lab of its own: they mostly wait; above two for each processor they starve each other")
	flags.DurationVar(&o.length, "quiet", 0, "for how long each disturbance goes on that must move nothing (\"detector fast moves nothing\"); 0: 10 minutes")
	flags.StringVar(&o.results, "json", "", "write every report to this file, one JSON object per line")
	flags.BoolVar(&o.timeline, "timeline", false, "print the timeline of every run")
	failures := flags.String("failure-modes", "", "run only the cases of the table of failure modes, and write it to this file")
	detector := flags.String("detector", "", "run only the cases of the table of what is lost between nodes, and write it into this document")
	grows := flags.String("growth", "", "instead of the table: how keepvip grows with the size of a cluster, written into this folder of documents; -only picks by \"nodes 3\", and then nothing is written")
	compares := flags.String("compare", "", "instead of the table: keepvip and other programs side by side, written into this folder of documents; with a part by -only nothing is written")
	from := flags.String("from", "", "run nothing, take the results that -json has written to this file: for the table, or with -failure-modes, -detector or -compare for those")
	flags.DurationVar(&k.length, "soak", 0, "instead of the table: random faults for this long")
	flags.Uint64Var(&k.seed, "seed", 0, "with -soak: the faults of this seed alone, which an earlier run has printed")
	flags.IntVar(&k.episode, "episode", -1, "with -soak and -seed: this episode alone")
	_ = flags.Parse(args)
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("bench: -only: %w", err)
	}
	if k.length > 0 {
		return runSoak(host, k, out)
	}
	o.page = pageOf(*failures, *detector)
	if *grows != "" {
		return growth(host, o, *grows, out)
	}
	if *compares != "" {
		return compare(host, o, *compares, *from, out)
	}
	if *from != "" {
		return fromResults(*from, o, out)
	}
	return table(host, o, out)
}

func table(host *lab.Host, o options, out io.Writer) (err error) {
	defer try.Catch(&err)
	var rows []trial.Row
	var counted count
	seen := map[string]trial.Row{}
	for _, c := range cases() {
		if !o.wants(c) {
			continue
		}
		began := time.Now()
		row, err := c.repeat(host, o)
		if err != nil {
			row.Verdict = "FAILED"
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", c.product().Name(), c.name, err)
		}
		if slower := c.slower(row, rows); slower != "" && row.Verdict == "ok" {
			row.Verdict = slower
		}
		counted.add(row.Verdict)
		fmt.Fprintf(os.Stderr, "%s: %s: %d runs in %v: outage %s ms, takeovers %s, two answering %s ms %s %s\n", row.Product, row.Name, len(row.Results), time.Since(began).Round(time.Second), trial.Of(row.Results, trial.Outage), row.Takeovers(), trial.Of(row.Results, trial.Two), row.Note, row.Verdict)
		rows, seen[c.key()] = append(rows, row), row
	}
	if o.page != nil {
		try.Do(o.page.write(o.page.path, seen))
	}
	if err := trial.Print(out, rows); err != nil {
		return fmt.Errorf("bench: print: %w", err)
	}
	if o.page == nil {
		if err := errors.Join(shows(host, o, out, &counted), floods(host, o, out, &counted)); err != nil {
			return fmt.Errorf("bench: print: %w", err)
		}
	}
	fmt.Fprintln(out, counted)
	return counted.err()
}

// repeat runs a case on one lab. The figures of a run in which the machine stood still are left out, and told as such; to have as many
// as were asked for, up to half as many runs more are made.
func (c benchCase) repeat(host *lab.Host, o options) (trial.Row, error) {
	row := trial.Row{Name: c.name, Product: c.product().Name()}
	open := c.open
	if open == nil {
		open = func(h *lab.Host) (*trial.Group, error) { return trial.Open(h, c.config) }
	}
	var g *trial.Group
	defer func() {
		if g != nil {
			g.Close()
		}
	}()
	want := cmp.Or(o.runs, c.runs)
	for runs := 0; len(row.Results) < want && runs < want+want/2; runs++ {
		var err error
		if g == nil {
			if g, err = open(host); err != nil {
				return row, err
			}
		}
		res, err := c.fault(g)
		if err != nil {
			return row, err
		}
		if c.checks() || c.panics() {
			// A check that flaps is slow to believe in health again, and nobody starts a daemon that has ended: the next run begins with a new group.
			g.Close()
			g = nil
		}
		res.Case = c.name
		if err := o.keep(res); err != nil {
			return row, err
		}
		res.Report.Streams, res.Report.Adverts = nil, nil // large, and no longer needed
		row.Add(res)
	}
	return c.judged(row), nil
}

// checks tells whether the nodes follow a check.
func (c benchCase) checks() bool {
	_, router := c.config.Product.(trial.Gatewayed)
	return c.config.API || router
}

// panics tells whether the product's daemon may end by itself.
func (c benchCase) panics() bool {
	_, yes := c.product().(trial.LeaseVIP)
	return yes
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
