package trial

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// besideVIP is the address that keepalived keeps next to keepvip's.
var besideVIP = netip.MustParseAddr("10.77.0.110")

// Beside runs keepvip, and on the same nodes keepalived with an address and a
// VRID of its own, so that both live through the same moments of the machine.
type Beside struct{ Keepvip Keepvip }

func (Beside) Name() string { return "keepvip" }

// Start implements [Product]; the process is keepvip's.
func (b Beside) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	other := s
	other.VRID, other.Addresses = 52, []netip.Addr{besideVIP}
	try.Get(RunKeepalived(n, Router{Name: "beside", Settings: other}))
	return b.Keepvip.Start(n, s)
}

// Starved keeps every processor busy with short tasks for a while. Takeovers are
// keepvip's; the note tells keepalived's.
func Starved(perCPU int, length time.Duration) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		res := try.Get(Busy(perCPU, length)(g))
		res.addNote("keepalived beside it: %d takeovers; the machine stood still for up to %s ms within a second", res.Report.Takeovers(besideVIP, res.FaultAt), lab.Milliseconds(res.Report.StoodStill()))
		return res, nil
	}
}

// Busy keeps every processor busy with short tasks for a while.
func Busy(perCPU int, length time.Duration) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		res := try.Get(g.run("short tasks", lab.MeasureConfig{}, func(m *lab.Measurement, _ *lab.Node) time.Duration {
			at := m.Mark("%d loops of short tasks on every processor", perCPU)
			p := try.Get(g.Lab.Press(perCPU))
			time.Sleep(length)
			p.Release()
			m.Mark("the short tasks end")
			return at
		}))
		res.Stall = 0 // the load is the point
		return res, nil
	}
}
