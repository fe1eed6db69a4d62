package trial

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Grown is what a group does at one size.
type Grown struct {
	CPU      float64       `json:"cpu"`      // of the busiest daemon beside which nothing happens, per cent of one processor
	Memory   float64       `json:"memory"`   // of the daemon that has most, MiB
	Failover time.Duration `json:"failover"` // without an answer when the holder's node dies
	Handover time.Duration `json:"handover"` // from the command until the next node answers, or, of open connections, until all clients are told
}

// Growth is something that there may be more or less of.
type Growth struct {
	Name   string // one word
	Of     string // what is counted
	Counts []int  // from the least to the most
	How    string // what a group of these is, and what is more than linear and why, in sentences for a reader
	// Measure measures a group with so many.
	Measure func(host *lab.Host, count int) (Grown, error)
}

// growthIdle is for how long is measured what a daemon costs beside which nothing happens.
const growthIdle = 10 * time.Second

// Growths are all.
func Growths() []Growth {
	return []Growth{
		{
			Name: "nodes", Of: "nodes", Counts: []int{3, 5, 7},
			Measure: func(host *lab.Host, count int) (Grown, error) {
				return grow(host, Config{Lab: lab.Config{Nodes: count}}, 1)
			},
			How: "Equal nodes with one address. Each node hears all others, so its own work is linear in their number, and what all of them send is quadratic: " +
				"each sends its HELLO to all.",
		},
		{
			Name: "addresses", Of: "addresses", Counts: []int{1, 10, 100, 1000},
			Measure: func(host *lab.Host, count int) (Grown, error) { return grow(host, Config{}, count) },
			How: "IPv4 addresses of one entry, on three nodes. The first, the middle and the last one are asked, and the slowest counts: all are bound and announced one " +
				"after the other. With IPv6 the kernel joins the groups of all addresses again with each address, which is quadratic: 250 ms of the 373 that a thousand take.",
		},
		{
			Name: "followers", Of: "followers", Counts: []int{1, 10, 100, 1000, 5000}, Measure: followersGrow,
			How: "Hosts that follow a load that is spread over three nodes, and ask each of these. A member tells its followers " +
				"a thousand times a second at most, so from 500 followers on its work does not grow with them; a place takes up to a KiB.",
		},
		{
			Name: "tracked", Of: "connections", Counts: []int{100, 1000, 10_000, 100_000}, Measure: trackedGrow,
			How: "Connections of a load that is spread directly, on each of three nodes. The kernel goes through all that it tracks when they are counted, which is linear; " +
				"how often they are counted follows from how long that takes, so from some ten thousand on the processor's share stays.",
		},
		{
			Name: "open", Of: "connections", Counts: []int{100, 1000, 10_000, 60_000}, Measure: openGrow,
			How: "Open connections to the holder on which nobody says anything, without spreading. The time of the handover is until the last client is told, on a machine " +
				"that has clients and servers, too. For each connection the kernel destroys a socket and sends a reset, which is linear.",
		},
	}
}

// grow measures a group that needs nothing else.
func grow(host *lab.Host, cfg Config, addresses int) (_ Grown, err error) {
	defer try.Catch(&err)
	g := try.Get(OpenAddresses(host, cfg, addresses))
	defer g.Close()
	return g.grown()
}

// OpenAddresses opens a group with so many IPv4 addresses in one election. Of many the first, the middle and the last one are asked.
func OpenAddresses(host *lab.Host, cfg Config, count int) (*Group, error) {
	cfg.Addresses = manyAddresses(count, false)
	return openBy(host, cfg, func(g *Group) {
		if all := g.Addresses; len(all) > 1 {
			g.Addresses = []netip.Addr{all[0], all[len(all)/2], all[len(all)-1]}
			try.Get(g.Lab.Client.Run("ip", "route", "add", "10.99.0.0/16", "dev", "eth0"))
		}
		try.Do(g.StartAll())
	})
}

func followersGrow(host *lab.Host, count int) (_ Grown, err error) {
	defer try.Catch(&err)
	s := try.Get(OpenSpread(host, SpreadConfig{V4: true}))
	defer s.end(&err)
	crowd := try.Get(s.Lab.StartCrowd(s.Addresses[0], count))
	if _, err := until(time.Minute, "all followers are told", func() bool { return crowd.Told() == count }); err != nil {
		return Grown{}, fmt.Errorf("%w: %d of %d are", err, crowd.Told(), count)
	}
	return s.grown()
}

func trackedGrow(host *lab.Host, count int) (_ Grown, err error) {
	defer try.Catch(&err)
	t := try.Get(OpenTracking(host, count, 0))
	defer t.Close()
	try.Two(t.Counted())
	return t.grown()
}

func openGrow(host *lab.Host, count int) (_ Grown, err error) {
	defer try.Catch(&err)
	g := try.Get(Open(host, Config{}))
	defer g.Close()
	return grownBy(func(f Fault) (*Result, time.Duration) {
		c := try.Get(WithConnections(g, count, 0, plainly(f)))
		return c.Result, c.After
	})
}

// grown measures the group as it is: at last the holder's node dies.
func (g *Group) grown() (Grown, error) {
	return grownBy(func(f Fault) (*Result, time.Duration) {
		res := try.Get(f(g))
		if res.Disturbed() {
			try.Do(fmt.Errorf("trial: %s: the machine stood still for %v: its figures do not count", res.Fault, res.Stall))
		}
		return res, res.Answered
	})
}

// grownBy has each fault measured, which says what a handover took. Its steps are caught.
func grownBy(measure func(Fault) (res *Result, handover time.Duration)) (_ Grown, err error) {
	defer try.Catch(&err)
	idle, _ := measure(Idle(growthIdle))
	_, handover := measure(handedOver)
	death, _ := measure(NodeDeath)
	return Grown{CPU: idle.CPU, Memory: float64(idle.RSS) / (1 << 20), Failover: death.Outage, Handover: handover}, nil
}

// handedOver has the holder give the address away, and take part again.
func handedOver(g *Group) (*Result, error) {
	return g.run("keepvip handover", lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
		at := m.Mark("keepvip handover on %s", holder.Label)
		for _, verb := range []string{"handover", "resume"} {
			try.Do((Keepvip{}).order(holder, verb))
			time.Sleep(g.span())
		}
		return at
	})
}
