package trial

import (
	"errors"
	"fmt"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// AcknowledgerRestarted cuts the holder from the third node, so that one other acknowledges alone, and then kills that one
// and starts it again at once, while the holder is frozen: its vote must not bring the third to power before the holder's
// lease is over.
func AcknowledgerRestarted(frozen bool) Fault {
	return func(g *Group) (*Result, error) {
		name := "acknowledging follower killed and restarted"
		if frozen {
			name += ", holder frozen"
		}
		res, err := g.run(name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			others := g.Others(holder)
			try.Do(g.Lab.Cut(lab.Apart([]*lab.Node{holder}, others[1:])...))
			m.Mark("%s cut from all but %s", holder.Label, others[0].Label)
			time.Sleep(2 * raftHeartbeat)
			if !holder.Holds(g.Addresses[0]) {
				return m.Mark("the holder has changed before the fault")
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
			return at
		})
		return res, errors.Join(err, g.Lab.Cut())
	}
}

// ClocksStepped makes the wall clocks of the holder and of another node jump apart, then cuts the holder off. The daemons must
// have clocks of their own.
func ClocksStepped(by time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		res, err := g.run(fmt.Sprintf("clocks stepped by %v", by), lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			others := g.Others(holder)
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
			try.Do(errors.Join(g.Daemon(holder).StepClock(0), g.Daemon(others[0]).StepClock(0)))
			return at
		})
		return res, errors.Join(err, g.Lab.Cut())
	}
}
