package trial

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Exchange is a fixed course of two daemons that run the same virtual routers,
// one with a low and one with a high priority, through every way in which one
// takes over from the other.
type Exchange struct {
	Low, High Runner
	Routers   []Router // Priority is set by the exchange
}

// advertLimit is for how long a new holder may not be heard. FRR's first IPv6 advertisement is lost: the macvlan is not up yet.
const advertLimit = time.Second

// startLimit is how long a daemon may take to begin.
const startLimit = time.Minute

// The priorities of an exchange.
const (
	LowPriority  = 100
	HighPriority = 150
)

// Step is one event of an exchange: who advertises a router from then on, and
// within which time of the protocol.
type Step struct {
	Name   string
	Both   bool // both nodes live after it
	Began  time.Duration
	At     time.Duration // when it happened; of a start, when each router has begun as a Backup
	End    time.Duration
	Holder func(r Router) int // node that advertises at End
	// Within is the protocol's time from At to the first advertisement of a
	// holder that is new.
	Within func(r Router) time.Duration
}

// Run goes through the exchange on a lab with two nodes: the low router is on
// the first. The report has the marks and advertisements that the steps speak of.
func (e Exchange) Run(l *lab.Lab, cfg lab.MeasureConfig) (_ []Step, _ *lab.Report, err error) {
	defer try.Catch(&err)
	m := try.Get(l.Measure(cfg))
	steps, err := e.course(l, m)
	return steps, m.Stop(), err
}

func (e Exchange) course(l *lab.Lab, m *lab.Measurement) (_ []Step, err error) {
	defer try.Catch(&err)
	low, high := l.Nodes[0], l.Nodes[1]
	var lowProc, highProc *lab.Process
	start := func(p **lab.Process, n *lab.Node, run Runner, priority int) func() error {
		return func() (err error) {
			if *p, err = run(n, e.ranked(priority)...); err != nil {
				return err
			}
			// FRR takes most of a second, and more than two on a busy machine: none of it is the protocol's.
			return e.backup(*p)
		}
	}
	die := func(n *lab.Node) func() error {
		return func() error { return try.Err(n.PowerOff()) }
	}
	startLow, startHigh := start(&lowProc, low, e.Low, LowPriority), start(&highProc, high, e.High, HighPriority)
	always := func(n *lab.Node) func(Router) int { return func(Router) int { return n.ID } }
	preempted := func(r Router) int {
		if r.NoPreempt {
			return low.ID
		}
		return high.ID
	}
	boot := func(n *lab.Node, then func() error) func() error {
		return func() error { return sequence(n.PowerOn, then) }
	}
	down := func(priority int) func(Router) time.Duration {
		return func(r Router) time.Duration { r.Priority = priority; return r.DownInterval() }
	}
	course := []struct {
		Step
		do    func() error
		wait  func(Router) time.Duration
		start bool
	}{
		{Step{Name: "the low one starts alone", Holder: always(low), Within: down(LowPriority)}, startLow, down(LowPriority), true},
		{Step{Name: "the high one joins", Both: true, Holder: preempted, Within: down(HighPriority)}, startHigh, down(HighPriority), true},
		{Step{Name: "the low one dies", Holder: always(high), Within: down(HighPriority)}, die(low), down(HighPriority), false},
		{Step{Name: "the low one is back", Both: true, Holder: always(high)}, boot(low, startLow), down(LowPriority), true},
		{
			Step{Name: "the high one is stopped", Holder: always(low), Within: func(r Router) time.Duration { r.Priority = LowPriority; return r.SkewTime() }},
			func() error { return terminate(highProc) }, func(r Router) time.Duration { r.Priority = LowPriority; return r.SkewTime() + r.Interval }, false,
		},
		{Step{Name: "the high one joins again", Both: true, Holder: preempted, Within: down(HighPriority)}, startHigh, down(HighPriority), true},
		{Step{Name: "the high one dies", Holder: always(low), Within: down(LowPriority)}, die(high), down(LowPriority), false},
	}
	var steps []Step
	for _, c := range course {
		longest, interval := time.Duration(0), time.Duration(0)
		for _, r := range e.Routers {
			longest, interval = max(longest, c.wait(r)), max(interval, r.Interval)
		}
		c.Began = m.Mark("%s", c.Name)
		c.At = c.Began
		if err := c.do(); err != nil {
			return nil, fmt.Errorf("trial: %s: %w", c.Name, err)
		}
		if c.start {
			c.At = m.Mark("%s: started", c.Name)
		}
		time.Sleep(longest)
		try.Do(e.held(l, c.Step))
		time.Sleep(advertLimit + interval) // the loser's last advertisement may be the last that is seen until the holder's next one
		c.End = m.Mark("%s: over", c.Name)
		steps = append(steps, c.Step)
	}
	return steps, nil
}

// held waits until each router's addresses are where they belong after a step. While both nodes live, those of a router that does not preempt stay
// where a silence has brought them.
func (e Exchange) held(l *lab.Lab, s Step) error {
	return within(SettleLimit, s.Name+": each address is where it belongs", func() bool {
		return !slices.ContainsFunc(e.Routers, func(r Router) bool {
			holds := func(n *lab.Node) bool { return n.Holds(r.Addresses[0]) }
			return !holds(l.Nodes[s.Holder(r)-1]) && !(s.Both && r.NoPreempt && slices.ContainsFunc(l.Nodes, holds))
		})
	})
}

// backup waits until a daemon says that it has begun: each router is a Backup.
func (e Exchange) backup(p *lab.Process) error {
	says := regexp.MustCompile(`to=backup reason=started|Entering BACKUP STATE|Initialize -> Backup`) // keepvip, keepalived, FRR
	_, err := until(startLimit, "each router has begun as a Backup", func() bool { return len(says.FindAllString(p.Log(), -1)) >= len(e.Routers) })
	if err != nil {
		return fmt.Errorf("%w: %s", err, p.Log())
	}
	return nil
}

func (e Exchange) ranked(priority int) []Router {
	routers := make([]Router, len(e.Routers))
	for i, r := range e.Routers {
		r.Priority = priority
		routers[i] = r
	}
	return routers
}

func terminate(p *lab.Process) error {
	code, err := p.Terminate(5 * time.Second)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d after SIGTERM: %s", code, p.Log())
	}
	return err
}

// Outcome is how one router fared in one step.
type Outcome struct {
	Holder   int           // node that advertised last before the end of the step, 0 if none
	Takeover time.Duration // from the step's beginning to the first advertisement of a new holder, 0 if it is not new
	Silent   bool          // the holder ceased to advertise for three intervals: another one may have taken over
}

// OutcomeOf reads a router's advertisements around a step.
func (r Router) OutcomeOf(report *lab.Report, s Step) Outcome {
	before, first, last := 0, map[int]time.Duration{}, time.Duration(0)
	var o Outcome
	for _, a := range report.Adverts {
		if a.VRID != r.VRID || a.Priority == 0 || a.At > s.End {
			continue
		}
		o.Silent = o.Silent || before != 0 && a.At >= s.Began && a.At-last >= 3*r.Interval
		last = a.At
		if a.At < s.At {
			before = a.Node
			continue
		}
		if _, seen := first[a.Node]; !seen {
			first[a.Node] = a.At
		}
		o.Holder = a.Node
	}
	if o.Holder != 0 && o.Holder != before {
		o.Takeover = first[o.Holder] - s.At
	}
	return o
}
