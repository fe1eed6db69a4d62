package trial

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// BootTogether stops the daemons of all nodes and starts them again at one moment. The result counts from that moment, and
// the first bind is no takeover.
func BootTogether(g *Group) (_ *Result, err error) {
	defer try.Catch(&err)
	try.Get(g.Settle())
	for _, n := range g.Lab.Nodes {
		try.Do(terminate(g.Daemon(n)))
	}
	m := try.Get(g.watch("all start together", lab.MeasureConfig{}))
	at := m.Mark("all start")
	err = sequence(g.StartAll, func() error { return try.Err(g.Settle()) })
	time.Sleep(settledSpan)
	r := m.Stop()
	try.Do(err)
	try.Get(g.SettleAny()) // that it has moved since is counted
	res := g.result("all start together", at, nil, r)
	res.Takeovers = max(res.Takeovers-1, 0)
	// Nobody answered before the first bind.
	if first := firstBind(r, g.Addresses[0], at, anyNode); first > 0 {
		res.Outage = r.LongestAfter(first)
		res.addNote("first answer after %s ms", lab.Milliseconds(first-at))
	}
	return res, nil
}

// settledSpan is how long a group that has settled is watched.
const settledSpan = 2 * time.Second

// StepClocks steps the wall clock of the holder, and then that of a backup, forward and back and back again, and watches
// for a while after each step. The daemons must have clocks of their own.
func StepClocks(by, watch time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		return g.run(fmt.Sprintf("clock stepped by %v", by), lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			at := m.Mark("clocks are stepped")
			for _, n := range []*lab.Node{holder, g.Lab.Nodes[holder.ID%len(g.Lab.Nodes)]} {
				for _, ahead := range []time.Duration{by, 0, -by, 0} {
					try.Do(g.Daemon(n).StepClock(ahead))
					m.Mark("the clock of %s is %v ahead", n.Label, ahead)
					time.Sleep(watch)
				}
			}
			return at
		})
	}
}
