package trial

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Heal cuts the holder off silently for a while. The result counts from the
// moment when the network is whole again: then two nodes are Active, and every
// client has to end up with the one that stays.
//
// With from not 0 that node is made the holder first, so that with equal
// priorities the lower address, which has to yield, can be the one cut off.
func Heal(length time.Duration, from int) Fault {
	return func(g *Group) (*Result, error) {
		if err := g.makeHolder(from); err != nil {
			return nil, err
		}
		cfg := lab.MeasureConfig{OffLink: g.Lab.OffLink != nil}
		return g.run("heal after a partition", cfg, func(m *lab.Measurement, holder *lab.Node) (_ time.Duration, err error) {
			defer try.Catch(&err)
			at := try.Get(holder.CutPort())
			m.MarkAt(at, "%s cut off", holder.Label)
			time.Sleep(length)
			at, err = holder.HealPort()
			m.MarkAt(at, "%s reachable again", holder.Label)
			time.Sleep(g.span() + 2*time.Second)
			return at, err
		})
	}
}

// makeHolder lets the node take over by stopping the others and starting them
// again; it must not have a lower priority than they.
func (g *Group) makeHolder(id int) (err error) {
	defer try.Catch(&err)
	if id == 0 || g.Lab.Nodes[id-1].Holds(g.Addresses[0]) {
		return nil
	}
	for _, n := range g.Lab.Nodes {
		if n.ID == id {
			continue
		}
		try.Do(terminate(g.Daemon(n)))
	}
	try.Get(g.Settle())
	for _, n := range g.Lab.Nodes {
		if n.ID == id {
			continue
		}
		try.Do(g.Start(n))
	}
	_, err = g.Settle()
	return err
}

// Lossy drops percent of all advertisements at the holder, in both directions,
// for a while.
func Lossy(percent int, length time.Duration) Fault {
	lose := func(n *lab.Node) error { return n.LoseVRRP(percent, lab.Both) }
	return nodeFault{"loss of advertisements", lose, (*lab.Node).LoseNothing}.lasting(length, false)
}
