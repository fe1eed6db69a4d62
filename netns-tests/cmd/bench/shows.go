package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// shows runs what brings its own lab, and prints a table of its own: first what consists of cases, side by side if that is wanted,
// then the rest, one after the other.
func shows(host *lab.Host, o options, out io.Writer, counted *count) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	tell := func(name string, took, stood time.Duration, found trial.Findings, err error) {
		verdict := verdictOf(found, stood, err)
		counted.add(verdict)
		fmt.Fprintf(os.Stderr, "show: %s: %v: %s %s\n", name, took.Round(time.Second), found, verdict)
		fmt.Fprintf(t, "%s\t%s\t%s\n", name, found, strings.Split(verdict, "\n")[0])
	}
	var mu sync.Mutex
	stood := map[string]time.Duration{}
	var cases []trial.Case
	var whole []trial.Show
	for _, s := range slices.Concat(trial.Shows(), trial.SpreadShows(), trial.DetectorShows(cmp.Or(o.length, trial.QuietLength))) {
		for _, c := range s.Cases {
			if c.Name = s.Name + ": " + c.Name; o.only.MatchString("show: " + c.Name) {
				run := c.Run
				c.Run = func(host *lab.Host, times int) (found trial.Findings, err error) {
					still, err := lab.StoodStill(func() (err error) { found, err = run(host, times); return err })
					mu.Lock()
					defer mu.Unlock()
					stood[c.Name] = still
					return found, err
				}
				cases = append(cases, c)
			}
		}
		if len(s.Cases) == 0 && o.only.MatchString("show: "+s.Name) {
			whole = append(whole, s)
		}
	}
	trial.SideBySide(host, cases, o.side, cmp.Or(o.runs, trial.CaseRuns), func(c trial.Case, found trial.Findings, took time.Duration, err error) {
		mu.Lock()
		defer mu.Unlock()
		tell(c.Name, took, stood[c.Name], found, err)
	})
	for _, s := range whole {
		began := time.Now()
		var found trial.Findings
		still, err := lab.StoodStill(func() (err error) { found, err = s.Run(host, true); return err })
		tell(s.Name, time.Since(began), still, found, err)
	}
	return t.Flush()
}

// stillInASecond is for how long within a second the machine may stand still beside what counts. Others take a node for dead that does not run
// for so long.
const stillInASecond = 100 * time.Millisecond

// verdictOf judges figures. What is wrong on any machine always counts; how long something took does not if the machine stood still.
func verdictOf(found trial.Findings, stood time.Duration, err error) string {
	switch over, broken := found.Over(1), found.Broken(); {
	case err != nil:
		return "FAILED: " + err.Error()
	case len(over) == 0:
		return "ok"
	case len(broken) == 0 && stood > stillInASecond:
		return fmt.Sprintf("%s: the machine stood still for %s ms within a second: %s", leftOut, lab.Milliseconds(stood), strings.Join(over, "; "))
	default:
		return "OVER: " + strings.Join(over, "; ")
	}
}
