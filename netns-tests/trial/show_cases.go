package trial

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// Case is one of the ways in which a show happens, in a lab of its own. It waits most of the time, so several may happen side by side.
type Case struct {
	Name  string
	Brief bool // one run of it and of the other brief ones is enough to see that the show works
	Run   func(host *lab.Host, times int) (Findings, error)
}

// CaseRuns is how often each case happens when figures are measured.
const CaseRuns = 20

// ofCases is a show that consists of cases.
func ofCases(name string, cases []Case) Show {
	return Show{Name: name, Cases: cases, Run: func(host *lab.Host, full bool) (Findings, error) {
		if full {
			return runCases(host, cases, 1, CaseRuns)
		}
		brief := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !c.Brief })
		return runCases(host, brief, len(brief), 1)
	}}
}

// runCases puts together what all cases find.
func runCases(host *lab.Host, cases []Case, side, times int) (Findings, error) {
	var out Findings
	var errs []error
	SideBySide(host, cases, side, times, func(c Case, found Findings, _ time.Duration, err error) {
		out = append(out, found.of(c.Name)...)
		errs = append(errs, err)
	})
	return out, errors.Join(errs...)
}

// SideBySide runs every case so many times, with at most side of them under way at once, and tells of each when it is done, with what it took.
func SideBySide(host *lab.Host, cases []Case, side, times int, done func(Case, Findings, time.Duration, error)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	places := make(chan struct{}, max(side, 1))
	for _, c := range cases {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			began := time.Now()
			found, err := c.Run(host, times)
			if err != nil {
				err = fmt.Errorf("trial: %s: %w", c.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done(c, found, time.Since(began), err)
		})
	}
	wg.Wait()
}

// of are the same figures, each with the name of what they were measured at.
func (o Findings) of(name string) Findings {
	named := slices.Clone(o)
	for i := range named {
		named[i].What = name + ": " + named[i].What
	}
	return named
}
