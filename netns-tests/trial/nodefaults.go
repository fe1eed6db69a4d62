package trial

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// nodeFault is something that happens to one node, and how it is undone. What the tests, the bench, the soak and the demo do to a node is in the one
// table of them.
type nodeFault struct {
	name        string
	begin, undo func(*lab.Node) error // undo nil: it is over as soon as it has begun
}

func nodeFaults() []nodeFault {
	at := func(do func(*lab.Node) (time.Duration, error)) func(*lab.Node) error {
		return func(n *lab.Node) error { _, err := do(n); return err }
	}
	return []nodeFault{
		{"power", at((*lab.Node).PowerOff), (*lab.Node).PowerOn}, // what ran there has to be started again
		{"cable", at((*lab.Node).PullCable), (*lab.Node).PlugCable},
		{"link down", (*lab.Node).LinkDown, (*lab.Node).LinkUp},
		{"port cut", at((*lab.Node).CutPort), at((*lab.Node).HealPort)},
		{"deaf", func(n *lab.Node) error { return n.LoseAll(lab.In, "") }, (*lab.Node).LoseNothing}, // and what it sends arrives
		{"mute", func(n *lab.Node) error { return n.LoseAll(lab.Out, "") }, (*lab.Node).LoseNothing},
		{"ruleset flushed", Flush, nil}, // as a firewall does that starts
		{"MAC changed", func(n *lab.Node) error { return n.ChangeMAC(net.HardwareAddr{0x02, 0x6c, 0, 0, 0, byte(n.ID)}) }, (*lab.Node).ResetMAC},
		{"own address applied again", (*lab.Node).ApplyAddressesAgain, nil}, // as a network manager does that is restarted
		{"own address away", (*lab.Node).DropAddresses, (*lab.Node).PutAddressesBack},
		{"IPv6 off", (*lab.Node).SwitchIPv6Off, (*lab.Node).SwitchIPv6On},
	}
}

// nodeFaultOf is the one of that name; one that is not there fails as soon as it begins.
func nodeFaultOf(name string) nodeFault {
	all := nodeFaults()
	if i := slices.IndexFunc(all, func(f nodeFault) bool { return f.name == name }); i >= 0 {
		return all[i]
	}
	return nodeFault{name: name, begin: func(*lab.Node) error { return fmt.Errorf("trial: no fault of a node has the name %q", name) }}
}

// ToHolder has a fault of the table happen to the holder for a while; all of it is watched.
func ToHolder(name string, length time.Duration) Fault {
	return nodeFaultOf(name).lasting(length, false)
}

// ToBackup has it happen to the node of the highest address, which does not hold the virtual one.
func ToBackup(name string, length time.Duration) Fault {
	return nodeFaultOf(name).lasting(length, true)
}

func (f nodeFault) lasting(length time.Duration, backup bool) Fault {
	return func(g *Group) (*Result, error) {
		if backup {
			if err := g.makeHolder(1); err != nil {
				return nil, err
			}
		}
		return g.run(f.name, lab.MeasureConfig{}, func(m *lab.Measurement, n *lab.Node) (_ time.Duration, err error) {
			defer try.Catch(&err)
			if backup {
				n = g.Lab.Nodes[len(g.Lab.Nodes)-1]
			}
			at := m.Mark("%s: %s", n.Label, f.name)
			try.Do(f.begin(n))
			time.Sleep(length)
			if f.undo != nil {
				m.Mark("%s: over", n.Label)
				try.Do(f.undo(n))
			}
			time.Sleep(g.span() + time.Second)
			return at, nil
		})
	}
}

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
		res, err := g.run(c.Name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) (_ time.Duration, err error) {
			defer try.Catch(&err)
			at := m.Mark("%s is the holder: %s", holder.Label, c.Name)
			try.Do(g.Lab.Cut(c.cuts(holder, g.Others(holder))...))
			m.Mark("in force")
			time.Sleep(length)
			m.Mark("healed")
			try.Do(g.Lab.Cut())
			time.Sleep(2 * g.span())
			return at, nil
		})
		return res, errors.Join(err, g.Lab.Cut())
	}
}
