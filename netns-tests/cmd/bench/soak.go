package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

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
