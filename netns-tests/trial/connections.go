package trial

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// connectionsPort is where servers hold connections on which nobody says anything.
const connectionsPort = 7443

// Connections is what became of idle connections to the holder while a fault was measured.
type Connections struct {
	*Result
	Ends  lab.IdleReport
	After time.Duration // from the moment that is judged until the last client was told
	CPU   time.Duration // of keepvip on the former holder, for the release and a second around
}

// WithConnections measures a fault while a client holds idle connections to each address. The clients that were told count from the moment of the
// fault, and where a mark of that text was made, from the first of these.
func WithConnections(g *Group, count int, fault Fault) (*Connections, error) {
	holder, err := g.Settle()
	if err != nil {
		return nil, err
	}
	return g.withConnections(holder, count, fault)
}

func (g *Group) withConnections(holder *lab.Node, count int, fault Fault) (*Connections, error) {
	var held []*lab.IdleConns
	for _, n := range g.Lab.Nodes {
		if err := n.StartIdleServers(connectionsPort, count*len(g.Addresses)); err != nil {
			return nil, err
		}
	}
	for _, a := range g.Addresses {
		idle, err := g.Lab.HoldIdle(g.Lab.Client.Namespace, netip.AddrPortFrom(a, connectionsPort), count)
		if err != nil {
			return nil, err
		}
		held = append(held, idle)
	}
	daemon := g.Daemon(holder)
	before, err := daemon.CPU()
	if err != nil {
		return nil, fmt.Errorf("trial: processor time of keepvip on %s: %w", holder.Label, err)
	}
	out := &Connections{}
	if out.Result, err = fault(g); err != nil {
		return nil, err
	}
	if after, err := daemon.CPU(); err == nil { // it may have ended
		out.CPU = after - before
	}
	for _, idle := range held {
		some, err := idle.Stop()
		if err != nil {
			return nil, err
		}
		out.Ends = append(out.Ends, some...)
	}
	out.After = out.Ends.Last() - out.From()
	return out, nil
}

// From is the moment from which clients count: the fault, or the start that takes over what a killed daemon has left.
func (c *Connections) From() time.Duration {
	for _, m := range c.Report.Marks {
		if m.Text == startsAgain {
			return m.At
		}
	}
	return c.FaultAt
}

// startsAgain marks the start after a kill.
const startsAgain = "keepvip starts again"

// KilledAndStarted kills the daemon on the holder, and starts it again after so long.
func KilledAndStarted(after time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		return g.run(fmt.Sprintf("daemon killed, started %v later", after), lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) (time.Duration, error) {
			at := m.Mark("kill -9 of the daemon on %s", holder.Label)
			if err := g.Daemon(holder).Kill9(); err != nil {
				return at, err
			}
			time.Sleep(after)
			m.Mark(startsAgain)
			if err := g.Start(holder); err != nil {
				return at, err
			}
			time.Sleep(3 * g.span())
			return at, nil
		})
	}
}
