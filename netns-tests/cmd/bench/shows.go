package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// shows runs what brings its own lab, and prints a table of its own: first what consists of cases, side by side if that is wanted,
// then the rest, one after the other.
func shows(host *lab.Host, o options, out io.Writer) (counted count, err error) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	tell := func(name string, took time.Duration, found trial.Findings, err error) {
		verdict := "ok"
		if unjudged := found.NotJudged(); len(unjudged) > 0 {
			verdict = notJudged + ": " + strings.Join(unjudged, "; ")
		}
		if limits := found.Over(1); len(limits) > 0 {
			verdict = "OVER: " + strings.Join(limits, "; ")
		}
		if err != nil {
			verdict = "FAILED: " + err.Error()
		}
		counted.add(verdict)
		fmt.Fprintf(os.Stderr, "show: %s: %v: %s %s\n", name, took.Round(time.Second), found, verdict)
		fmt.Fprintf(t, "%s\t%s\t%s\n", name, found, strings.Split(verdict, "\n")[0])
	}
	var cases []trial.Case
	var whole []trial.Show
	for _, s := range slices.Concat(trial.Shows(), trial.SpreadShows()) {
		for _, c := range s.Cases {
			if c.Name = s.Name + ": " + c.Name; o.only.MatchString("show: " + c.Name) {
				cases = append(cases, c)
			}
		}
		if len(s.Cases) == 0 && o.only.MatchString("show: "+s.Name) {
			whole = append(whole, s)
		}
	}
	trial.SideBySide(host, cases, o.side, cmp.Or(o.runs, trial.CaseRuns), func(c trial.Case, found trial.Findings, took time.Duration, err error) {
		tell(c.Name, took, found, err)
	})
	for _, s := range whole {
		began := time.Now()
		found, err := s.Run(host, true)
		tell(s.Name, time.Since(began), found, err)
	}
	return counted, t.Flush()
}
