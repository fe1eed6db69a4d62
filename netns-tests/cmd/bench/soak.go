package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// soak is a run of random faults.
type soak struct {
	length  time.Duration
	seed    uint64 // 0 = another one each time
	episode int    // only this one; less than 0 = all
}

// runSoak injects random faults until the time is over: first those that have once found something, then new ones.
func runSoak(host *lab.Host, s soak, out io.Writer) error {
	end := time.Now().Add(s.length)
	if s.seed == 0 {
		for _, k := range trial.KnownEpisodes() {
			fmt.Fprintf(out, "seed %d, episode %d, which has found: %s\n", k.Seed, k.Index, k.Found)
			if wrong, err := runChaos(host, k.Seed, k.Index, 1, time.Time{}, out); err != nil || wrong > 0 {
				return fmt.Errorf("bench: -soak: it is back: %s: %w", k.Found, err)
			}
		}
		s.seed = rand.Uint64()
	}
	first, most := 0, -1
	if s.episode >= 0 {
		first, most = s.episode, 1
	}
	fmt.Fprintf(out, "seed %d\n", s.seed)
	wrong, err := runChaos(host, s.seed, first, most, end, out)
	if err == nil && wrong > 0 {
		err = fmt.Errorf("bench: -soak: %d episodes of seed %d went wrong", wrong, s.seed)
	}
	return err
}

// runChaos runs so many episodes from the first, or until the end, and returns how many went wrong.
func runChaos(host *lab.Host, seed uint64, first, most int, end time.Time, out io.Writer) (wrong int, err error) {
	c, err := trial.OpenChaos(host, seed)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for i := first; most < 0 && time.Now().Before(end) || i-first < most; i++ {
		res, err := c.Run(i)
		if err != nil {
			return wrong, fmt.Errorf("bench: -soak: seed %d, episode %d: %w", seed, i, err)
		}
		fmt.Fprintf(out, "%s  %s\n", time.Now().Format(time.TimeOnly), res)
		if len(res.Wrong) == 0 {
			continue
		}
		wrong++
		fmt.Fprintf(out, "again: bin/lab-bench -soak 1m -seed %d -episode %d\n  plan: %s\n  %s\n", seed, i, res.What, strings.Join(res.Wrong, "\n  "))
		res.Report.Timeline(out, 0)
		fmt.Fprintln(out, c.Logs(60))
	}
	return wrong, nil
}
