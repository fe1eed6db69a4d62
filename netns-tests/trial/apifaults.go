package trial

import (
	"cmp"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// apiFault breaks the apiserver on the holder, watches for a while, or with 0 for as long as a takeover may take and some, and repairs it.
func apiFault(name string, watch time.Duration, breaks func(*lab.APIServer) error, mends func(*lab.Node) error) Fault {
	return func(g *Group) (*Result, error) {
		begin := func(n *lab.Node) error { return breaks(n.API()) }
		undo := func(n *lab.Node) error { return errors.Join(mends(n), g.healthy()) }
		res, err := g.whileItLasts(nodeFault{"apiserver " + name, begin, undo}, lab.MeasureConfig{HTTPS: true}, cmp.Or(watch, g.span()+2*time.Second))
		if err == nil {
			res.RSS = g.peakRSS()
		}
		return res, err
	}
}

// peakRSS is the largest resident set that a daemon of the group ever had.
func (g *Group) peakRSS() (most int64) {
	for _, p := range g.Daemons {
		if p == nil || !p.Alive() {
			continue
		}
		if peak, err := p.PeakRSS(); err == nil {
			most = max(most, peak)
		}
	}
	return most
}

// APIKilled kills the apiserver on the holder, and starts it again.
func APIKilled(g *Group) (*Result, error) {
	return apiFault("killed", 0, func(a *lab.APIServer) error { return a.Signal(unix.SIGKILL) }, startAPI)(g)
}

// APIFrozen stops the apiserver on the holder with SIGSTOP: the kernel goes on
// accepting its connections.
func APIFrozen(watch time.Duration) Fault {
	return apiFault("frozen", watch, func(a *lab.APIServer) error { return a.Stop() }, func(n *lab.Node) error { return n.API().Cont() })
}

// APIIll puts the apiserver on the holder into a mode, and back.
func APIIll(mode lab.APIMode, arg string, watch time.Duration) Fault {
	return apiFault(string(mode), watch, func(a *lab.APIServer) error { return a.Set(mode, arg) },
		func(n *lab.Node) error { return n.API().Set(lab.APIHealthy, "") })
}

func startAPI(n *lab.Node) error { return try.Err(n.StartAPIServer()) }

// APILoop lets the apiserver of the first holder restart again and again: it is
// up for a while and down for a while. The result counts from its first end.
func APILoop(length, up, down time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		res, err := g.run("apiserver restarts in a loop", lab.MeasureConfig{HTTPS: true}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			var first time.Duration
			for end := time.Now().Add(length); time.Now().Before(end); {
				if at := m.Mark("kill -9 of the apiserver on %s", holder.Label); first == 0 {
					first = at
				}
				try.Do(holder.API().Kill9())
				time.Sleep(down)
				try.Do(startAPI(holder))
				m.Mark("apiserver on %s serves", holder.Label)
				time.Sleep(up)
			}
			return first
		})
		return res, errors.Join(err, g.healthy())
	}
}
