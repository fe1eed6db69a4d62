package trial

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// between makes a fault of something that breaks the ways between the nodes, and is healed after a while. The client and the
// monitor reach every node all the time, so that two that answer are seen.
func between(name string, length time.Duration, cuts func(g *Group, holder *lab.Node) []lab.Cut) Fault {
	return func(g *Group) (*Result, error) {
		res, err := g.run(name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) (_ time.Duration, err error) {
			defer try.Catch(&err)
			at := m.Mark("%s (holder %s)", name, holder.Label)
			try.Do(g.Lab.Cut(cuts(g, holder)...))
			m.Mark("in force")
			time.Sleep(length)
			m.Mark("healed")
			try.Do(g.Lab.Cut())
			time.Sleep(g.span())
			return at, nil
		})
		return res, errors.Join(err, g.Lab.Cut())
	}
}

// others are the nodes but for one, beginning with the next.
func (g *Group) others(n *lab.Node) []*lab.Node {
	nodes := g.Lab.Nodes
	return slices.Concat(nodes[n.ID:], nodes[:n.ID-1])
}

// HolderAlone cuts the holder from all others.
func HolderAlone(length time.Duration) Fault {
	return between("holder alone", length, func(g *Group, holder *lab.Node) []lab.Cut {
		return lab.Apart([]*lab.Node{holder}, g.others(holder))
	})
}

// HolderInMinority leaves the holder of five one other node.
func HolderInMinority(length time.Duration) Fault {
	return between("holder with a minority", length, func(g *Group, holder *lab.Node) []lab.Cut {
		others := g.others(holder)
		return lab.Apart([]*lab.Node{holder, others[0]}, others[1:])
	})
}

// HolderDeaf lets the holder send, but not receive.
func HolderDeaf(length time.Duration) Fault {
	return oneWay("holder sends, does not receive", length, func(holder, other *lab.Node) lab.Cut { return lab.Cut{From: other, To: holder} })
}

// HolderMute lets the holder receive, but not send.
func HolderMute(length time.Duration) Fault {
	return oneWay("holder receives, does not send", length, func(holder, other *lab.Node) lab.Cut { return lab.Cut{From: holder, To: other} })
}

// oneWay cuts one direction between the holder and each of the others.
func oneWay(name string, length time.Duration, cut func(holder, other *lab.Node) lab.Cut) Fault {
	return between(name, length, func(g *Group, holder *lab.Node) []lab.Cut {
		var cuts []lab.Cut
		for _, n := range g.others(holder) {
			cuts = append(cuts, cut(holder, n))
		}
		return cuts
	})
}

// FollowersApart leaves every other node the holder alone.
func FollowersApart(length time.Duration) Fault {
	return between("follower islands", length, func(g *Group, holder *lab.Node) []lab.Cut {
		var cuts []lab.Cut
		others := g.others(holder)
		for i, n := range others {
			cuts = append(cuts, lab.Apart([]*lab.Node{n}, others[i+1:])...)
		}
		return cuts
	})
}

// LossBetween loses so many per cent of the frames between all nodes.
func LossBetween(percent int, length time.Duration) Fault {
	return between(fmt.Sprintf("%d %% loss", percent), length, func(g *Group, _ *lab.Node) []lab.Cut {
		var cuts []lab.Cut
		for i, n := range g.Lab.Nodes {
			cuts = append(cuts, lab.Apart([]*lab.Node{n}, g.Lab.Nodes[i+1:])...)
		}
		for i := range cuts {
			cuts[i].Percent = percent
		}
		return cuts
	})
}

// AcknowledgerRestarted cuts the holder from the third node, so that one other acknowledges alone, and then kills that one
// and starts it again at once, while the holder is frozen: its vote must not bring the third to power before the holder's
// lease is over.
func AcknowledgerRestarted(frozen bool) Fault {
	return func(g *Group) (*Result, error) {
		name := "acknowledging follower killed and restarted"
		if frozen {
			name += ", holder frozen"
		}
		res, err := g.run(name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) (_ time.Duration, err error) {
			defer try.Catch(&err)
			others := g.others(holder)
			try.Do(g.Lab.Cut(lab.Apart([]*lab.Node{holder}, others[1:])...))
			m.Mark("%s cut from all but %s", holder.Label, others[0].Label)
			time.Sleep(2 * raftHeartbeat)
			if !holder.Holds(g.Addresses[0]) {
				return m.Mark("the holder has changed before the fault"), nil
			}
			at := m.Mark("kill -9 of the daemon on %s", others[0].Label)
			if frozen {
				try.Do(g.Daemon(holder).Stop())
			}
			try.Do(g.Daemon(others[0]).Kill9())
			try.Get(g.Daemon(others[0]).Wait(2 * time.Second))
			try.Do(g.Start(others[0]))
			time.Sleep(3 * time.Second)
			if frozen {
				try.Do(g.Daemon(holder).Cont())
			}
			m.Mark("healed")
			try.Do(g.Lab.Cut())
			time.Sleep(g.span())
			return at, nil
		})
		return res, errors.Join(err, g.Lab.Cut())
	}
}

// ClocksStepped makes the wall clocks of the holder and of another node jump apart, then cuts the holder off. The daemons must
// have clocks of their own.
func ClocksStepped(by time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		res, err := g.run(fmt.Sprintf("clocks stepped by %v", by), lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) (_ time.Duration, err error) {
			defer try.Catch(&err)
			others := g.others(holder)
			at := m.Mark("the clock of %s goes wrong by %v, that of %s by %v", holder.Label, by, others[0].Label, -by)
			try.Do(g.Daemon(holder).StepClock(by))
			try.Do(g.Daemon(others[0]).StepClock(-by))
			time.Sleep(2 * time.Second)
			m.Mark("%s cut from the others", holder.Label)
			try.Do(g.Lab.Cut(lab.Apart([]*lab.Node{holder}, others)...))
			time.Sleep(3 * time.Second)
			m.Mark("healed")
			try.Do(g.Lab.Cut())
			time.Sleep(g.span())
			return at, errors.Join(g.Daemon(holder).StepClock(0), g.Daemon(others[0]).StepClock(0))
		})
		return res, errors.Join(err, g.Lab.Cut())
	}
}
