package trial

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// WayCut is what gets lost between the nodes. The client and the monitor reach all of them, so that two that answer are seen.
type WayCut struct {
	Name string
	cuts func(holder *lab.Node, others []*lab.Node) []lab.Cut // the others begin with the next
}

// WayCuts are the cuts that a detector may take for a death. To an election with a quorum some of them are partitions.
func WayCuts() []WayCut {
	return []WayCut{
		{"one other does not hear the holder", func(h *lab.Node, o []*lab.Node) []lab.Cut { return ways(one(h), o[:1]) }},
		{"the holder does not hear one other", func(h *lab.Node, o []*lab.Node) []lab.Cut { return ways(o[:1], one(h)) }},
		{"one other is cut off from all", func(h *lab.Node, o []*lab.Node) []lab.Cut { return lab.Apart(o[:1], append(o[1:], h)) }},
		{"the others do not hear each other", func(_ *lab.Node, o []*lab.Node) []lab.Cut { return islands(o) }},
		{"the holder hears none of the others", func(h *lab.Node, o []*lab.Node) []lab.Cut { return ways(o, one(h)) }},
		{"none of the others hears the holder", func(h *lab.Node, o []*lab.Node) []lab.Cut { return ways(one(h), o) }},
		{"the holder and the others are apart", func(h *lab.Node, o []*lab.Node) []lab.Cut { return lab.Apart(one(h), o) }},
	}
}

// Lost is one of [WayCuts].
func Lost(name string) WayCut {
	all := WayCuts()
	return all[slices.IndexFunc(all, func(c WayCut) bool { return c.Name == name })]
}

// TwoOfFive has two nodes hear each other alone; the holder is one of them, or of the other three.
func TwoOfFive(holder bool) WayCut {
	return WayCut{"two of five", func(h *lab.Node, o []*lab.Node) []lab.Cut {
		if holder {
			return lab.Apart([]*lab.Node{h, o[0]}, o[1:])
		}
		return lab.Apart(o[:2], append(o[2:], h))
	}}
}

// LossBetween loses so many per cent of the frames between all nodes.
func LossBetween(percent int) WayCut {
	return WayCut{fmt.Sprintf("%d %% loss", percent), func(h *lab.Node, o []*lab.Node) []lab.Cut {
		cuts := islands(append(o, h))
		for i := range cuts {
			cuts[i].Percent = percent
		}
		return cuts
	}}
}

func one(n *lab.Node) []*lab.Node { return []*lab.Node{n} }

// ways are the ways from some nodes to others.
func ways(from, to []*lab.Node) (cuts []lab.Cut) {
	for _, x := range from {
		for _, y := range to {
			cuts = append(cuts, lab.Cut{From: x, To: y})
		}
	}
	return cuts
}

// islands are all ways between nodes.
func islands(nodes []*lab.Node) (cuts []lab.Cut) {
	for i, n := range nodes {
		cuts = append(cuts, lab.Apart(one(n), nodes[i+1:])...)
	}
	return cuts
}

// For loses it for a while.
func (c WayCut) For(length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		res, err := g.run(c.Name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			at := m.Mark("%s is the holder: %s", holder.Label, c.Name)
			try.Do(g.Lab.Cut(c.cuts(holder, g.Others(holder))...))
			m.Mark("in force")
			time.Sleep(length)
			m.Mark("healed")
			try.Do(g.Lab.Cut())
			time.Sleep(2 * g.span())
			return at
		})
		return res, errors.Join(err, g.Lab.Cut())
	}
}
