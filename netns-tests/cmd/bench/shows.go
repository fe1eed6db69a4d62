package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// shows runs what brings its own lab, and prints a table of its own: first what consists of cases, side by side if that is wanted,
// then the rest, one after the other.
func shows(host *lab.Host, o options, out io.Writer) (counted count, err error) {
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
	return counted, t.Flush()
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

// floodLength is how long each flood lasts.
const floodLength = 5 * time.Second

// floods runs what bears the name of a flood, once, and prints a table of its own.
func floods(host *lab.Host, o options, out io.Writer) (counted count, err error) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range trial.Floods() {
		if !o.only.MatchString("flood: " + f.Name) {
			continue
		}
		if counted.cases == 0 {
			fmt.Fprintln(t, "flood\ta second\tprocessor %\tmemory MiB\tlog lines\ttransitions\tsilent ms\ttwo answering ms\ttimer late ms\tothers served\tstill in a second ms\tverdict")
		}
		var found trial.Flooded
		stood, err := lab.StoodStill(func() (err error) { found, err = f.Run(host, floodLength); return err })
		verdict := verdictOf(found.Findings(), stood, err)
		counted.add(verdict)
		fmt.Fprintf(os.Stderr, "flood: %s: %s %s\n", f.Name, found.Findings(), verdict)
		fmt.Fprintf(t, "%s\t%.0f\t%.1f\t%.1f\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, found.Rate, found.CPU, mib(found.RSS), found.Lines, found.Transitions,
			lab.Milliseconds(found.Silent), lab.Milliseconds(found.Two), lab.Milliseconds(found.Late), besideOf(found), lab.Milliseconds(stood), strings.Split(verdict, "\n")[0])
	}
	return counted, t.Flush()
}

// besideOf is how many of those who asked beside the flood were served.
func besideOf(f trial.Flooded) string {
	if f.Asked == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", f.Served, f.Asked)
}

// soak is a run of random faults.
type soak struct {
	length  time.Duration
	seed    uint64 // 0 = another one each time
	episode int    // only this one; less than 0 = all
}

// runSoak injects random faults until the time is over: first those that have once found something, then new ones.
// No episode is done twice, and the last line counts all of them.
func runSoak(host *lab.Host, s soak, out io.Writer) error {
	var tally trial.Tally
	err := s.run(host, &tally, out)
	tally.Print(out)
	if err == nil && tally.Wrong == 0 && !tally.Decides() {
		err = errors.New("bench: -soak: most episodes are left out: the machine stood still")
	}
	return err
}

func (s soak) run(host *lab.Host, tally *trial.Tally, out io.Writer) (err error) {
	defer try.Catch(&err)
	end := time.Now().Add(s.length)
	if s.seed == 0 {
		for _, k := range trial.KnownEpisodes() {
			fmt.Fprintf(out, "an episode that has found: %s\n", k.Found)
			try.Do(runChaos(host, 0, episodes{most: 1, plan: k.Plan}, time.Time{}, tally, out))
			if tally.Wrong > 0 {
				return fmt.Errorf("bench: -soak: it is back: %s", k.Found)
			}
		}
		s.seed = rand.Uint64()
	}
	span := episodes{first: 0, most: -1}
	if s.episode >= 0 {
		span = episodes{first: s.episode, most: 1, whole: true}
	}
	fmt.Fprintf(out, "seed %d\n", s.seed)
	try.Do(runChaos(host, s.seed, span, end, tally, out))
	if tally.Wrong > 0 {
		return fmt.Errorf("bench: -soak: %d episodes of seed %d went wrong", tally.Wrong, s.seed)
	}
	return nil
}

// episodes says which episodes of a seed are run.
type episodes struct {
	first, most int               // how many; less than 0 = until the time is over
	whole       bool              // show all that happened, also when nothing went wrong
	plan        []trial.Injection // of one that is known; nil: what the seed draws
}

// runChaos runs episodes, and counts them.
func runChaos(host *lab.Host, seed uint64, span episodes, end time.Time, tally *trial.Tally, out io.Writer) (err error) {
	defer try.Catch(&err)
	c := try.Get(trial.OpenChaos(host, seed))
	defer c.Close()
	for i := span.first; span.most < 0 && time.Now().Before(end) || i-span.first < span.most; i++ {
		plan := span.plan
		if plan == nil {
			plan = trial.Episode(seed, i)
		}
		res, err := c.Replay(i, plan)
		if err != nil {
			return fmt.Errorf("bench: -soak: seed %d, episode %d: %w", seed, i, err)
		}
		fmt.Fprintf(out, "%s  %s\n", time.Now().Format(time.TimeOnly), res)
		tally.Add(res)
		if len(res.Wrong)+len(res.Slow) == 0 && !span.whole {
			continue
		}
		if span.plan == nil {
			fmt.Fprintf(out, "again: bin/lab-bench -soak 1m -seed %d -episode %d\n", seed, i)
		}
		fmt.Fprintf(out, "  plan: %s\n  %s\n", res.What, strings.Join(slices.Concat(res.Wrong, res.Slow), "\n  "))
		res.Report.Timeline(out, 0)
		fmt.Fprintln(out, c.Logs(60))
	}
	return nil
}
