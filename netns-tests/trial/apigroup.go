package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

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
