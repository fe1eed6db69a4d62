package trial

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
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

// EpisodeResult is what an episode has shown.
type EpisodeResult struct {
	Index    int
	What     string
	Outages  map[string]time.Duration // the longest of each address
	Wrong    []string                 // what must not have been, empty when all was well
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
	verdict := "ok"
	if len(r.Wrong) > 0 {
		verdict = "WRONG: " + strings.Join(r.Wrong, "; ")
	}
	return fmt.Sprintf("%3d  %-70s silent ms %s  standstill %s ms  %s", r.Index, strings.Join(parts, ", "), strings.Join(lost, " / "),
		lab.Milliseconds(r.Report.Standstill(0, r.Report.Ended)), verdict)
}

// Run does one episode, and leaves everything whole again. An error is one of the lab; what the product did wrong is in the result.
func (c *Chaos) Run(index int) (*EpisodeResult, error) {
	plan := Episode(c.Seed, index)
	res := &EpisodeResult{Index: index, What: describeEpisode(plan), Outages: map[string]time.Duration{}}
	m, err := c.lab.Measure(lab.MeasureConfig{
		Name: res.What, Targets: c.addresses(), Apart: true,
		Interval: 2 * time.Millisecond, DirectEvery: 5 * time.Millisecond, AskEvery: 10 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	c.watch.take()
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

// judge looks for what must not have been.
func (c *Chaos) judge(res *EpisodeResult, claims []claim) {
	c.judgeDoubles(res)
	c.judgeOutages(res)
	c.judgeClaims(res, claims)
	c.judgeCosts(res)
	for i, n := range c.nodes {
		if !n.daemon.Alive() {
			res.Wrong = append(res.Wrong, fmt.Sprintf("the daemon on n%d has ended", i+1))
			if err := c.start(n); err != nil {
				res.Wrong = append(res.Wrong, err.Error())
			}
		}
	}
}

// judgeDoubles: at most one answers for an address, but for the moment in which it is passed on, and VRRP's silent partition.
func (c *Chaos) judgeDoubles(res *EpisodeResult) {
	for _, e := range c.entries {
		for _, a := range e.addresses {
			asked := res.Report.Apart[a]
			at := time.Duration(0)
			for _, w := range append(c.allowed(res, e), span{res.Report.Ended, res.Report.Ended}) {
				if two := asked.TwoIn(at, w.from); two > planned+res.Report.Standstill(at, w.from) {
					res.Wrong = append(res.Wrong, fmt.Sprintf("two answer for %s, for %s ms", a, lab.Milliseconds(two)))
				}
				at = max(at, w.to)
			}
		}
	}
}

type span struct{ from, to time.Duration }

// allowed are the times in which two may answer, in order.
func (c *Chaos) allowed(res *EpisodeResult, e chaosEntry) []span {
	var spans []span
	for _, in := range res.injected {
		end := in.to + healed + res.Report.Standstill(in.undone, in.to+time.Second)
		switch {
		case e.raft:
		case in.kind.two:
			spans = append(spans, span{in.from, end})
		case in.kind.away:
			spans = append(spans, span{in.undone, end})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
	return spans
}

// judgeOutages: an address is silent only because of something that was done, and no longer than that may take.
func (c *Chaos) judgeOutages(res *EpisodeResult) {
	for i, e := range c.entries {
		for _, a := range e.addresses {
			s := res.Report.Stream("c1", a)
			for _, o := range s.Outages {
				res.Outages[a.String()] = max(res.Outages[a.String()], o.Length)
				room := c.room(res.Report.Standstill(o.At-time.Second, o.End+100*time.Millisecond), e)
				if limit := c.limit(res, i, o); o.Length > limit+room {
					res.Wrong = append(res.Wrong, fmt.Sprintf("%s silent for %s ms at %+d ms, limit %s and %s of the machine's", a,
						lab.Milliseconds(o.Length), (o.At-res.injected[0].from).Milliseconds(), lab.Milliseconds(limit), lab.Milliseconds(room)))
				}
			}
		}
	}
}

// room is what the machine may have added to an outage. To the others a daemon that does not run for an interval, or half a lease of
// Raft, may be a dead one: then it is a takeover.
func (c *Chaos) room(standstill time.Duration, e chaosEntry) time.Duration {
	switch {
	case e.raft && standstill > 200*time.Millisecond:
		return standstill + elected
	case !e.raft && standstill > 100*time.Millisecond:
		return standstill + takeover
	}
	return standstill
}

// tail is how long after an injection is over an address may still fall silent because of it.
const tail = 4 * time.Second

// limit is how long an outage of an entry may be: what all injections that explain it may cost together.
func (c *Chaos) limit(res *EpisodeResult, entry int, o lab.Outage) time.Duration {
	limit, gone := 20*time.Millisecond, 0
	var away []span
	for _, in := range res.injected {
		if o.End < in.from || o.At > in.to+tail {
			continue
		}
		raft := c.entries[entry].raft
		cost := in.kind.others
		switch {
		case raft && (in.held[entry] || len(res.injected) > 1):
			cost = in.kind.raft
		case in.held[entry] || len(res.injected) > 1:
			cost = in.kind.vrrp
		}
		limit += cost
		if raft && (in.kind.raft == elected || in.Kind == "SIGTERM") {
			gone++
			away = append(away, span{in.from, in.to})
		}
	}
	if gone > 1 { // no majority while both are away, nor while they begin again
		limit += max(min(away[0].to, away[1].to)-max(away[0].from, away[1].from), 0) + elected
	}
	return limit
}
