package trial

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Show is something that keepvip promises and that is no fault of a running
// group: it brings its own lab.
type Show struct {
	Name string
	// Run does it. With full it repeats as often, and waits as long, as the
	// promise says; otherwise only often enough to see that it works.
	Run func(host *lab.Host, full bool) (Findings, error)
	// Cases are what it consists of, if they can be run by themselves.
	Cases []Case
	// Measured has the bench alone run it, in full: it is all about figures, or nodes in virtual time or a test of its own show the same.
	Measured bool
}

// Findings is what a show measured.
type Findings []Measured

// Measured is one figure. Limit is the promise: at most so much; less than 0
// stands for a figure that is only told.
type Measured struct {
	What       string
	Got, Limit float64
	Unit       string
}

func took(what string, got, limit time.Duration) Measured {
	return Measured{What: what, Got: inMilliseconds(got), Limit: inMilliseconds(limit), Unit: "ms"}
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// none is a count that must be 0.
func none(what string, got int) Measured {
	return Measured{What: what, Got: float64(got), Unit: "times"}
}

// told is a figure without a limit.
func told(what string, got time.Duration) Measured {
	return Measured{What: what, Got: inMilliseconds(got), Limit: -1, Unit: "ms"}
}

// Over lists what is over its limit, with so much slack: 1 is none. A limit of 0
// knows no slack.
func (o Findings) Over(slack float64) []string {
	var over []string
	for _, m := range o {
		if m.Limit >= 0 && m.Got > m.Limit*slack {
			over = append(over, fmt.Sprintf("%s %s, limit %s", m.What, m.number(m.Got), m.number(m.Limit)))
		}
	}
	return over
}

// Broken lists what is wrong on any machine: counts over their limits, and anything of which there must be none. How long something took is
// not among them.
func (o Findings) Broken() []string {
	return slices.DeleteFunc(slices.Clone(o), func(m Measured) bool { return m.Limit != 0 && m.Unit != "times" }).Over(1)
}

func (m Measured) number(v float64) string {
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	return text + " " + m.Unit
}

// String lists all figures.
func (o Findings) String() string {
	parts := make([]string, len(o))
	for i, m := range o {
		parts[i] = m.What + " " + m.number(m.Got)
		if m.Limit >= 0 {
			parts[i] += " (limit " + m.number(m.Limit) + ")"
		}
	}
	return strings.Join(parts, ", ")
}

// Shows are all there are.
func Shows() []Show {
	return append(connectionShows(), []Show{
		{Name: "address deleted by hand", Run: inside(Open, Config{Addresses: bothVIPs, Interval: time.Second}, addressDeleted)},
		measured("1,000 addresses, IPv4", thousand(false)),
		measured("1,000 addresses, IPv6", thousand(true)),
		{Name: "foreign host that announces", Run: inside(Open, Config{Addresses: bothVIPs}, foreignAnnounces)},
		{Name: "foreign host that is silent", Run: inside(Open, Config{Addresses: bothVIPs}, foreignIsSilent)},
		{Name: "foreign host before the first bind", Run: foreignFirst},
		{Name: "foreign table listed", Run: inside(Prepare, Config{Lab: lab.Config{Nodes: 1}, Interval: 10 * time.Millisecond}, foreignTable)},
		{Name: "no lock-out by a dead keepvip", Run: inside(Open, Config{Lab: lab.Config{Nodes: 1}, Addresses: bothVIPs}, noLockOut)},
		{Name: "fence destroyed", Run: fenceDestroyed},
		ofCases("reloaded and killed", reloadsAndKills()),
		ofCases("frozen with a second NIC on the segment", frozenTwins()),
		measured("fifty checks", inside(Open, Config{Lab: lab.Config{Nodes: 1}, API: true, Product: checking(50)}, fiftyChecks)),
		{Name: "long-lived connection", Run: longConnection},
		ofCases("routes", routeCases()),
		measured("three hundred clusters on a link", inside(Open, Config{}, manyClusters)),
		{Name: "no trace on the host", Run: inside(Prepare, Config{Lab: lab.Config{Nodes: 1}, Addresses: bothVIPs}, noTrace)},
		{Name: "never the node's identity", Run: inside(Open, Config{Addresses: bothVIPs}, identity)},
		ofCases("raft: reloaded", raftReloads()),
		ofCases("SIGTERM in a reload", reloadEnds()),
		{Name: "doctor", Run: doctors},
		measured("raft: members come and go", raftMembers),
		measured("raft: members killed at any step", raftMembersKilled),
		measured("raft: every disk wiped", inside(Open, RaftConfig(Raft{}), raftWiped)),
		measured("raft: witness", inside(Open, RaftConfig(Raft{Witnesses: []int{3}}), raftWitness)),
		{Name: "raft: recovered from one node", Run: inside(Open, RaftConfig(Raft{}), raftRecovered)},
		measured("raft: start orders", raftStarts),
		{Name: "raft: damaged stores", Run: raftDamaged},
		measured("raft: idle", inside(Open, RaftConfig(Raft{}), raftIdle)),
		measured("address events", addressEvents),
	}...)
}

// measured is a show for the bench alone.
func measured(name string, run func(*lab.Host, bool) (Findings, error)) Show {
	return Show{Name: name, Measured: true, Run: run}
}

// ofGroup is what a show, or a case, opens: an error has what its daemons have logged.
type ofGroup interface {
	explain(recovered any, err *error)
	Close()
}

// inside is a show, or a case, in a group of its own, of which it is told how much of it there is to be. Its steps are caught.
func inside[G ofGroup, C, T any](open func(*lab.Host, C) (G, error), cfg C, do func(g G, much T) Findings) func(*lab.Host, T) (Findings, error) {
	return func(host *lab.Host, much T) (_ Findings, err error) {
		g, err := open(host, cfg)
		if err != nil {
			return nil, err
		}
		defer func() {
			g.explain(recover(), &err)
			g.Close()
		}()
		return do(g, much), nil
	}
}

// sized is what a show goes through when it is full, and what is enough of it otherwise.
func sized[T any](full bool, everything, enough T) T {
	if full {
		return everything
	}
	return enough
}

// sequence runs steps until one fails.
func sequence(steps ...func() error) (err error) {
	defer try.Catch(&err)
	for _, step := range steps {
		try.Do(step())
	}
	return nil
}

// until polls a condition and returns how long it took.
func until(limit time.Duration, what string, ok func() bool) (time.Duration, error) {
	began := time.Now()
	for !ok() {
		if time.Since(began) > limit {
			return 0, fmt.Errorf("trial: not within %v: %s", limit, what)
		}
		time.Sleep(3 * time.Millisecond)
	}
	return time.Since(began), nil
}

// insist takes a step again and again until it succeeds; after the limit the error is its last one.
func insist(limit, pause time.Duration, step func() error) (err error) {
	for end := time.Now().Add(limit); ; time.Sleep(pause) {
		if err = step(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

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
