package trial

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// injected is an injection that was done.
type injected struct {
	Injection
	kind     chaosKind
	node     *chaosNode
	held     [3]bool // which entries the node held when it began
	from, to time.Duration
	undone   time.Duration // when its end began
}

// secondFamily is what it may cost the other family of a dual-stack entry; beside another injection the address may come to this node by that one.
func (in *injected) secondFamily(beside bool) time.Duration {
	if beside && in.kind.second > 0 {
		return max(in.kind.second, lame)
	}
	return in.kind.second
}

// EpisodeResult is what an episode has shown.
type EpisodeResult struct {
	Index    int
	What     string
	Outages  map[string]time.Duration // the longest of each address
	Wrong    []string                 // what must not have been on any machine, empty when all was well
	Slow     []string                 // what took too long; on a machine that stood still it says nothing about the product
	Report   *lab.Report
	injected []*injected
}

// String is one line.
func (r *EpisodeResult) String() string {
	var parts []string
	for _, in := range r.injected {
		parts = append(parts, fmt.Sprintf("%s on %s for %d ms", in.Kind, in.node.Label, (in.to-in.from).Milliseconds()))
	}
	var lost []string
	for _, a := range []string{"10.77.0.100", "fd77::100", "10.77.0.101", "10.77.0.102"} {
		lost = append(lost, lab.Milliseconds(r.Outages[a]))
	}
	return fmt.Sprintf("%3d  %-70s silent ms %s  standstill %s ms  %s", r.Index, strings.Join(parts, ", "), strings.Join(lost, " / "),
		lab.Milliseconds(r.Report.StoodStill()), r.verdict())
}

// verdict is "ok" only where all was judged and nothing was wrong.
func (r *EpisodeResult) verdict() string {
	var parts []string
	if len(r.Wrong) > 0 {
		parts = append(parts, "WRONG: "+strings.Join(r.Wrong, "; "))
	}
	if len(r.Slow) > 0 {
		parts = append(parts, map[bool]string{true: "LEFT OUT: ", false: "SLOW: "}[r.Disturbed()]+strings.Join(r.Slow, "; "))
	}
	if len(parts) == 0 {
		return "ok"
	}
	return strings.Join(parts, "; ")
}

// starvedChaos is for how long the machine may stand still within a second of an episode whose times count. To the others a
// daemon that does not run for an advertisement interval may be a dead one, and no bound is right then.
const starvedChaos = 100 * time.Millisecond

// Disturbed tells that the machine stood still for longer than that: then no time of the episode counts.
func (r *EpisodeResult) Disturbed() bool { return r.Report.StoodStill() > starvedChaos }

// slow takes down what took too long.
func (r *EpisodeResult) slow(format string, args ...any) {
	r.Slow = append(r.Slow, fmt.Sprintf(format, args...))
}

// Run does one episode of the seed.
func (c *Chaos) Run(index int) (*EpisodeResult, error) {
	return c.Replay(index, Episode(c.Seed, index))
}

// Replay does one episode by its plan, once, under that index, and leaves everything whole again. An error is one of the lab; what the
// product did wrong is in the result, and so is what took too long.
func (c *Chaos) Replay(index int, plan []Injection) (_ *EpisodeResult, err error) {
	defer try.Catch(&err)
	res := &EpisodeResult{Index: index, What: describeEpisode(plan), Outages: map[string]time.Duration{}}
	m := try.Get(c.lab.Measure(lab.MeasureConfig{
		Name: res.What, Targets: c.addresses(),
		Interval: 2 * time.Millisecond, DirectEvery: 5 * time.Millisecond, AskEvery: 10 * time.Millisecond,
	}))
	c.watch.take()
	c.countCPU()
	time.Sleep(300 * time.Millisecond)
	res.injected, err = c.inject(m, plan)
	if err != nil {
		res.Wrong = append(res.Wrong, err.Error())
	}
	if err := c.whole(settleChaos); err != nil {
		res.Wrong = append(res.Wrong, err.Error())
	}
	time.Sleep(time.Second)
	res.Report = m.Stop()
	c.judge(res, c.watch.take())
	return res, nil
}

// settleChaos is how long it may take after the last injection is undone until all is whole: a restarted member of raft does not
// vote at once, and two may have been away.
const settleChaos = 12 * time.Second

// inject does what is planned. Two injections never meet on one node: the second takes the next one.
func (c *Chaos) inject(m *lab.Measurement, plan []Injection) ([]*injected, error) {
	all := make([]*injected, len(plan))
	errs := make([]error, len(plan))
	began := c.lab.Now()
	var wait sync.WaitGroup
	var mu sync.Mutex
	taken := map[*chaosNode]bool{}
	for i, in := range plan {
		wait.Go(func() {
			time.Sleep(in.After - (c.lab.Now() - began))
			mu.Lock()
			n := c.role(in, taken)
			taken[n] = true
			mu.Unlock()
			all[i] = &injected{Injection: in, kind: chaosKindOf(in.Kind), node: n}
			errs[i] = c.do(m, all[i])
		})
	}
	wait.Wait()
	return all, errors.Join(errs...)
}

// role is the node that an injection means.
func (c *Chaos) role(in Injection, taken map[*chaosNode]bool) *chaosNode {
	first := 0
	if h := c.holder(in.Entry); h != nil {
		first = h.ID - 1
	}
	for i := range c.nodes {
		n := c.nodes[(first+in.Role+i)%len(c.nodes)]
		if !taken[n] {
			return n
		}
	}
	return c.nodes[first]
}

func (c *Chaos) do(m *lab.Measurement, in *injected) error {
	for e := range c.entries {
		in.held[e] = in.node.Holds(c.entries[e].addresses[0])
	}
	in.from = m.Mark("%s on %s", in.Kind, in.node.Label)
	err := in.kind.begin(c, in.node, in.Injection)
	if in.kind.end != nil {
		time.Sleep(in.For)
		in.undone = m.Mark("%s on %s: undone", in.Kind, in.node.Label)
		err = errors.Join(err, in.kind.end(c, in.node, in.Injection))
	}
	in.to = m.Mark("%s on %s: over", in.Kind, in.node.Label)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Kind, err)
	}
	return nil
}

// Tally counts episodes by what they have shown. One in which something was slow while the machine stood still is left out.
type Tally struct{ Episodes, Wrong, LeftOut int }

// Add counts an episode.
func (t *Tally) Add(r *EpisodeResult) {
	t.Episodes++
	switch {
	case len(r.Wrong) > 0, len(r.Slow) > 0 && !r.Disturbed():
		t.Wrong++
	case len(r.Slow) > 0:
		t.LeftOut++
	}
}

// Decides tells whether at least half of the episodes count: a run in which they do not has shown nothing.
func (t *Tally) Decides() bool { return 2*t.LeftOut <= t.Episodes }

// Print writes a line that counts all of them.
func (t *Tally) Print(w io.Writer) {
	fmt.Fprintf(w, "%d episodes, %d wrong, %d left out because the machine stood still for more than %d ms within a second\n",
		t.Episodes, t.Wrong, t.LeftOut, starvedChaos.Milliseconds())
}
