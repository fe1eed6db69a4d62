package trial

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
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

// APIAllKilled kills the apiservers of all nodes at once, and starts them again.
func APIAllKilled(g *Group) (*Result, error) {
	res, err := g.run("all apiservers killed", lab.MeasureConfig{}, func(m *lab.Measurement, _ *lab.Node) time.Duration {
		at := g.killAPIs(m)
		time.Sleep(4 * time.Second)
		return at
	})
	return res, errors.Join(err, g.startAPIs(), g.healthy())
}

// killAPIs is a part of faults, which catch its steps.
func (g *Group) killAPIs(m *lab.Measurement) (at time.Duration) {
	at = m.Mark("all apiservers killed")
	for _, n := range g.Lab.Nodes {
		try.Do(n.API().Signal(unix.SIGKILL))
	}
	return at
}

func (g *Group) startAPIs() (err error) {
	for _, n := range g.Lab.Nodes {
		err = errors.Join(err, startAPI(n))
	}
	return err
}

// recovery is how long the first node that recovers may wait before it asks for
// the address, and then some.
const recovery = 8 * time.Second

// APIOneBack kills the apiservers of all nodes at once, and later starts the one
// of another node than the holder: that node gets the address, once. Answered
// counts from the moment when the apiserver serves again.
func APIOneBack(g *Group) (*Result, error) {
	var next *lab.Node
	var back time.Duration
	res, err := g.run("all apiservers killed, one comes back", lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
		at := g.killAPIs(m)
		time.Sleep(4 * time.Second)
		next = g.Lab.Nodes[holder.ID%len(g.Lab.Nodes)]
		try.Do(startAPI(next))
		back = m.Mark("apiserver on %s serves", next.Label)
		time.Sleep(recovery)
		try.Do(g.startAPIs())
		m.Mark("all apiservers serve")
		time.Sleep(recovery)
		return at
	})
	if err == nil && res.Taker != 0 {
		res.Answered = max(res.Answered-(back-res.FaultAt), 0)
	}
	if err == nil && res.Taker != next.ID {
		err = fmt.Errorf("trial: n%d took the address, want %s, whose apiserver came back", res.Taker, next.Label)
	}
	return res, errors.Join(err, g.startAPIs(), g.healthy())
}

// APIsIll puts the apiservers of all nodes into a mode for a while.
func APIsIll(mode lab.APIMode, arg string, length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		res, err := g.run("apiservers of all nodes: "+string(mode), lab.MeasureConfig{HTTPS: true}, func(m *lab.Measurement, _ *lab.Node) time.Duration {
			at := g.setAPIs(m, mode, arg)
			time.Sleep(length)
			return at
		})
		for _, n := range g.Lab.Nodes {
			err = errors.Join(err, n.API().Set(lab.APIHealthy, ""))
		}
		return res, errors.Join(err, g.healthy())
	}
}

// setAPIs is a part of faults, which catch its steps.
func (g *Group) setAPIs(m *lab.Measurement, mode lab.APIMode, arg string) (at time.Duration) {
	at = m.Mark("apiservers of all nodes: %s", mode)
	for _, n := range g.Lab.Nodes {
		try.Do(n.API().Set(mode, arg))
	}
	return at
}

// EtcdLost lets the checks of all nodes fail together for a while, as when etcd has lost its quorum, and recover in any
// order, the last one that long after the first. Requests that do not need etcd go on being answered.
func EtcdLost(length, spread time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		order := rand.Perm(len(g.Lab.Nodes))
		last := g.Lab.Nodes[order[len(order)-1]]
		var victim *lab.Node
		res, err := g.run("etcd lost", lab.MeasureConfig{HTTPS: true, HTTPSPath: "/api"}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			victim = holder
			at := g.setAPIs(m, lab.APIEtcd, "")
			time.Sleep(length)
			for i, node := range order {
				if i > 0 {
					time.Sleep(spread / time.Duration(len(order)-1))
				}
				n := g.Lab.Nodes[node]
				try.Do(n.API().Set(lab.APIHealthy, ""))
				m.Mark("apiserver on %s is well again", n.Label)
			}
			time.Sleep(recovery)
			return at
		})
		if err == nil && victim == last {
			res.addNote("the holder recovers last")
		}
		return res, errors.Join(err, g.healthy())
	}
}

// APIRestored lets the apiserver on the holder answer 500 until the address has moved, mends it, and watches for a while what
// the recovered node does. Answered is then the time from the mending until that node has the address again, 0 if it has not.
func APIRestored(watch time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		var victim *lab.Node
		var back time.Duration
		res, err := g.run("apiserver restored", lab.MeasureConfig{HTTPS: true}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			victim = holder
			at := m.Mark("apiserver on %s: 500", holder.Label)
			try.Do(holder.API().Set(lab.API500, ""))
			try.Get(until(5*time.Second, "the address moves", func() bool { return !holder.Holds(g.Addresses[0]) }))
			time.Sleep(g.span())
			try.Do(holder.API().Set(lab.APIHealthy, ""))
			back = m.Mark("apiserver on %s is well again", holder.Label)
			time.Sleep(watch)
			return at
		})
		if victim != nil {
			err = errors.Join(err, victim.API().Set(lab.APIHealthy, ""), g.healthy())
		}
		if err != nil {
			return nil, fmt.Errorf("trial: apiserver restored: %w", err)
		}
		again := firstBind(res.Report, g.Addresses[0], back, func(node int) bool { return node == victim.ID })
		res.Answered = max(again-back, 0)
		return res, nil
	}
}
