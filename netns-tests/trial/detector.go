package trial

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/pulse"
	"github.com/keepvip/keepvip/netns-tests/lab"
)

// Fast is keepvip with `vrrp.detector: fast`.
func Fast(more ...string) Keepvip {
	return Keepvip{Args: append([]string{"--detector", "fast"}, more...)}
}

// WayCut is what gets lost between the nodes. The client reaches all of them.
type WayCut struct {
	Name string
	cuts func(holder *lab.Node, others []*lab.Node) []lab.Cut
}

// WayCuts are the cuts that a detector may take for a death.
func WayCuts() []WayCut {
	from := func(a, b []*lab.Node) (list []lab.Cut) {
		for _, x := range a {
			for _, y := range b {
				list = append(list, lab.Cut{From: x, To: y})
			}
		}
		return list
	}
	one := func(n *lab.Node) []*lab.Node { return []*lab.Node{n} }
	return []WayCut{
		{"one other does not hear the holder", func(h *lab.Node, o []*lab.Node) []lab.Cut { return from(one(h), o[:1]) }},
		{"the holder does not hear one other", func(h *lab.Node, o []*lab.Node) []lab.Cut { return from(o[:1], one(h)) }},
		{"one other is cut off from all", func(h *lab.Node, o []*lab.Node) []lab.Cut { return lab.Apart(o[:1], append(o[1:], h)) }},
		{"the others do not hear each other", func(_ *lab.Node, o []*lab.Node) []lab.Cut { return lab.Apart(o[:1], o[1:]) }},
		{"the holder hears none of the others", func(h *lab.Node, o []*lab.Node) []lab.Cut { return from(o, one(h)) }},
		{"none of the others hears the holder", func(h *lab.Node, o []*lab.Node) []lab.Cut { return from(one(h), o) }},
		{"the holder and the others are apart", func(h *lab.Node, o []*lab.Node) []lab.Cut { return lab.Apart(one(h), o) }},
	}
}

// TwoOfFive has two nodes hear each other alone.
func TwoOfFive() WayCut {
	return WayCut{"two of five", func(h *lab.Node, o []*lab.Node) []lab.Cut { return lab.Apart(o[:2], append(o[2:], h)) }}
}

// For loses it for a while.
func (c WayCut) For(length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		return g.run(c.Name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) (time.Duration, error) {
			at := m.Mark("%s is the holder: %s", holder.Label, c.Name)
			if err := g.Lab.Cut(c.cuts(holder, g.others(holder))...); err != nil {
				return at, err
			}
			time.Sleep(length)
			err := g.Lab.Cut()
			m.Mark("nothing is lost any more")
			time.Sleep(2 * g.span())
			return at, err
		})
	}
}

// strangersWords are beats, questions and words in the names of all nodes, by somebody who has no key: that the holder is there, and that it is gone.
func strangersWords(g *Group) [][]byte {
	var frames [][]byte
	for i := range 300 {
		for _, from := range g.Lab.Nodes {
			about := g.Lab.Nodes[i%len(g.Lab.Nodes)].Address
			var m pulse.Message
			switch i / 100 {
			case 0:
				m = pulse.Message{Type: pulse.Word, Session: uint64(from.ID), About: about}
			case 1:
				m = pulse.Message{Type: pulse.Ask, Session: uint64(from.ID), About: about}
			default:
				m = pulse.Message{Type: pulse.Beat, Session: uint64(i), Number: uint32(i), Every: pulse.Every, Last: i%2 == 0}
			}
			b := m.Append(nil, uint64(time.Now().UnixNano())+uint64(i))
			frames = append(frames, g.Lab.Client.ForgeUDP(netip.AddrPortFrom(from.Address, envelope.SourcePort), membersPort, b))
		}
	}
	return frames
}
