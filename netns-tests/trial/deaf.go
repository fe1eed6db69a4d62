package trial

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// DeafHolder lets nothing arrive at the holder for a while; what it sends does.
func DeafHolder(length time.Duration) Fault {
	return func(g *Group) (*Result, error) { return g.deaf("deaf holder", length, nil) }
}

// DeafBackup does so to the node of the highest address, which is not the holder: among equals everybody would yield to it.
func DeafBackup(length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		if err := g.makeHolder(1); err != nil {
			return nil, err
		}
		return g.deaf("deaf backup", length, g.Lab.Nodes[len(g.Lab.Nodes)-1])
	}
}

// deaf does so to a node, or to the holder.
func (g *Group) deaf(name string, length time.Duration, n *lab.Node) (*Result, error) {
	return g.run(name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) (time.Duration, error) {
		if n == nil {
			n = holder
		}
		at := m.Mark("nothing arrives at %s", n.Label)
		if err := g.Lab.Deafen(n); err != nil {
			return at, err
		}
		time.Sleep(length)
		err := g.Lab.Deafen()
		m.Mark("%s hears again", n.Label)
		time.Sleep(g.span() + time.Second)
		return at, err
	})
}
