package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// walk is a cluster that grows from one member to as many as there are nodes, and shrinks to one again, the founder among those
// that go.
type walk struct {
	g       *Group
	raft    Raft
	m       *lab.Measurement
	members []*lab.Node // at the moment
	random  *rand.Rand
	kills   int // in every step
	killed  int
	steps   []walkStep

	mu   sync.Mutex // guards starting and ending a node, and gone
	gone map[*lab.Node]bool
}

type walkStep struct {
	name     string
	from, to time.Duration
}

const (
	// agreeLimit is how long the members may take to agree after a step.
	agreeLimit = 20 * time.Second
	// killWithin is the time from the beginning of a step in which somebody is killed.
	killWithin = 3 * time.Second
)

// openWalk starts the first node, the only member.
func openWalk(host *lab.Host, nodes, kills int, seed uint64) (_ *walk, err error) {
	defer try.Catch(&err)
	r := Raft{Peers: nodes, First: 1}
	g := try.Get(openBy(host, RaftConfig(r), func(g *Group) { try.Do(g.Start(g.Lab.Nodes[0])) }))
	w := &walk{g: g, raft: r, members: g.Lab.Nodes[:1:1], kills: kills, gone: map[*lab.Node]bool{}, random: rand.New(rand.NewPCG(seed, 5))}
	if w.m, err = g.watch("members come and go", lab.MeasureConfig{}); err != nil {
		g.Close()
	}
	return w, err
}

// run goes the whole way, and returns what was seen of it.
func (w *walk) run() (*lab.Report, error) {
	defer w.g.Close()
	nodes := w.g.Lab.Nodes
	for _, n := range nodes[1:] {
		if err := w.step(n.Label+" joins", func() error { return w.join(n) }); err != nil {
			return w.m.Stop(), err
		}
	}
	for _, n := range nodes[:len(nodes)-1] {
		if err := w.step(n.Label+" leaves", func() error { return w.leave(n) }); err != nil {
			return w.m.Stop(), err
		}
	}
	return w.m.Stop(), nil
}

// step does one, with somebody killed in the middle of it, and waits until all is well.
func (w *walk) step(name string, do func() error) error {
	s := walkStep{name: name, from: w.m.Mark("%s", name)}
	err := sequence(
		func() error { return w.disturbed(do) }, func() error { return w.g.Voters(agreeLimit, w.members...) }, func() error { return try.Err(w.g.Settle()) })
	s.to = w.g.Lab.Now()
	w.steps = append(w.steps, s)
	if err != nil {
		return fmt.Errorf("trial: %s: %w", name, err)
	}
	return nil
}

func (w *walk) join(n *lab.Node) error {
	via := w.any()
	w.members = append(w.members, n)
	return errors.Join(w.g.Start(n), w.repeat(via, "add", n))
}

// leave removes a member, then ends it.
func (w *walk) leave(n *lab.Node) (err error) {
	defer try.Catch(&err)
	w.members = slices.DeleteFunc(slices.Clone(w.members), func(m *lab.Node) bool { return m == n })
	try.Do(w.repeat(w.any(), "remove", n))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[n] = true
	if p := w.g.Daemon(n); p.Alive() {
		return try.Err(p.Terminate(10 * time.Second))
	}
	return nil
}

// any is one of the members, at random.
func (w *walk) any() *lab.Node { return w.members[w.random.IntN(len(w.members))] }

// repeat runs a command until it succeeds, as a person would whose node has just been killed.
func (w *walk) repeat(on *lab.Node, op string, subject *lab.Node) error {
	step := func() error { return w.raft.Member(on, op, subject.Address.String()) }
	if w.kills == 0 {
		return step()
	}
	return insist(agreeLimit, 200*time.Millisecond, step)
}

// disturbed kills running nodes at random moments beside a step, and starts them again as a supervisor would.
func (w *walk) disturbed(do func() error) error {
	if w.kills == 0 {
		return do()
	}
	var running []*lab.Node
	for _, n := range w.g.Lab.Nodes {
		if p := w.g.Daemon(n); p != nil && p.Alive() {
			running = append(running, n)
		}
	}
	type kill struct {
		victim *lab.Node
		after  time.Duration
	}
	var plan []kill
	for range w.kills {
		plan = append(plan, kill{running[w.random.IntN(len(running))], time.Duration(w.random.Int64N(int64(killWithin)))})
	}
	slices.SortFunc(plan, func(a, b kill) int { return int(a.after - b.after) })
	var wait sync.WaitGroup
	var failed error
	wait.Go(func() {
		began := time.Now()
		for _, k := range plan {
			time.Sleep(time.Until(began.Add(k.after)))
			if err := w.kill(k.victim); err != nil {
				failed = err
				return
			}
		}
	})
	err := do()
	wait.Wait()
	return errors.Join(err, failed)
}

func (w *walk) kill(n *lab.Node) error {
	if done, err := w.end(n); done || err != nil {
		return err
	}
	time.Sleep(RestartAfter)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone[n] {
		return nil
	}
	return w.g.Start(n) // one that is still to be removed, too: of two members both make the majority
}

// end kills a node, unless it has left in order.
func (w *walk) end(n *lab.Node) (done bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.g.Daemon(n)
	if !p.Alive() {
		return true, nil
	}
	w.m.Mark("kill -9 of the daemon on %s", n.Label)
	w.killed++
	if err := p.Kill9(); err != nil {
		return false, err
	}
	_, err = p.Wait(2 * time.Second)
	return false, err
}

// longest is the step with the longest outage, and how often the address moved in the one where it moved most.
func (w *walk) longest(r *lab.Report) (worst walkStep, outage time.Duration, moves int) {
	for _, s := range w.steps {
		var own time.Duration
		for _, st := range r.Streams {
			for _, o := range st.Outages {
				if o.At < s.to && o.End > s.from {
					own = max(own, o.Length)
				}
			}
		}
		if own >= outage {
			worst, outage = s, own
		}
		binds := 0
		for _, b := range r.Binds {
			if b.Added && b.Address == w.g.Addresses[0] && b.At >= s.from && b.At < s.to {
				binds++
			}
		}
		moves = max(moves, binds)
	}
	return worst, outage, moves
}
