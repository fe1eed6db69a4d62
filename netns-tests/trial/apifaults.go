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

// apiFault breaks the apiserver on the holder, watches for a while, and mends it.
func apiFault(name string, watch func(*Group) time.Duration, breaks func(*lab.APIServer) error, mends func(*lab.Node) error) Fault {
	return func(g *Group) (*Result, error) {
		begin := func(n *lab.Node) error { return breaks(n.API()) }
		undo := func(n *lab.Node) error { return errors.Join(mends(n), g.healthy()) }
		res, err := g.whileItLasts(nodeFault{"apiserver " + name, begin, undo}, lab.MeasureConfig{HTTPS: true}, watch(g))
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

func fixed(d time.Duration) func(*Group) time.Duration {
	return func(*Group) time.Duration { return d }
}

// APIKilled kills the apiserver on the holder, and starts it again.
func APIKilled(g *Group) (*Result, error) {
	watch := func(g *Group) time.Duration { return g.span() + 2*time.Second }
	return apiFault("killed", watch, func(a *lab.APIServer) error { return a.Signal(unix.SIGKILL) }, startAPI)(g)
}

// APIFrozen stops the apiserver on the holder with SIGSTOP: the kernel goes on
// accepting its connections.
func APIFrozen(watch time.Duration) Fault {
	return apiFault("frozen", fixed(watch), func(a *lab.APIServer) error { return a.Stop() }, func(n *lab.Node) error { return n.API().Cont() })
}

// APIIll puts the apiserver on the holder into a mode, and back.
func APIIll(mode lab.APIMode, arg string, watch time.Duration) Fault {
	return apiFault(string(mode), fixed(watch), func(a *lab.APIServer) error { return a.Set(mode, arg) },
		func(n *lab.Node) error { return n.API().Set(lab.APIHealthy, "") })
}

func startAPI(n *lab.Node) error { return try.Err(n.StartAPIServer()) }

// APILoop lets the apiserver of the first holder restart again and again: it is
// up for a while and down for a while. The result counts from its first end.
func APILoop(length, up, down time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		res, err := g.run("apiserver restarts in a loop", lab.MeasureConfig{HTTPS: true}, func(m *lab.Measurement, holder *lab.Node) (_ time.Duration, err error) {
			defer try.Catch(&err)
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
			return first, nil
		})
		return res, errors.Join(err, g.healthy())
	}
}

// APIAllKilled kills the apiservers of all nodes at once, and starts them again.
func APIAllKilled(g *Group) (*Result, error) {
	res, err := g.run("all apiservers killed", lab.MeasureConfig{}, func(m *lab.Measurement, _ *lab.Node) (time.Duration, error) {
		at, err := g.killAPIs(m)
		time.Sleep(4 * time.Second)
		return at, err
	})
	return res, errors.Join(err, g.startAPIs(), g.healthy())
}

func (g *Group) killAPIs(m *lab.Measurement) (time.Duration, error) {
	at := m.Mark("all apiservers killed")
	for _, n := range g.Lab.Nodes {
		if err := n.API().Signal(unix.SIGKILL); err != nil {
			return at, err
		}
	}
	return at, nil
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
	res, err := g.run("all apiservers killed, one comes back", lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) (_ time.Duration, err error) {
		defer try.Catch(&err)
		at := try.Get(g.killAPIs(m))
		time.Sleep(4 * time.Second)
		next = g.Lab.Nodes[holder.ID%len(g.Lab.Nodes)]
		try.Do(startAPI(next))
		back = m.Mark("apiserver on %s serves", next.Label)
		time.Sleep(recovery)
		err = g.startAPIs()
		m.Mark("all apiservers serve")
		time.Sleep(recovery)
		return at, err
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
		res, err := g.run("apiservers of all nodes: "+string(mode), lab.MeasureConfig{HTTPS: true}, func(m *lab.Measurement, _ *lab.Node) (time.Duration, error) {
			at, err := g.setAPIs(m, mode, arg)
			time.Sleep(length)
			return at, err
		})
		for _, n := range g.Lab.Nodes {
			err = errors.Join(err, n.API().Set(lab.APIHealthy, ""))
		}
		return res, errors.Join(err, g.healthy())
	}
}

func (g *Group) setAPIs(m *lab.Measurement, mode lab.APIMode, arg string) (time.Duration, error) {
	at := m.Mark("apiservers of all nodes: %s", mode)
	for _, n := range g.Lab.Nodes {
		if err := n.API().Set(mode, arg); err != nil {
			return at, err
		}
	}
	return at, nil
}

// EtcdLost lets the checks of all nodes fail together for a while, as when etcd has lost its quorum, and recover in any
// order, the last one that long after the first. Requests that do not need etcd go on being answered.
func EtcdLost(length, spread time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		order := rand.Perm(len(g.Lab.Nodes))
		last := g.Lab.Nodes[order[len(order)-1]]
		var victim *lab.Node
		res, err := g.run("etcd lost", lab.MeasureConfig{HTTPS: true, HTTPSPath: "/api"}, func(m *lab.Measurement, holder *lab.Node) (_ time.Duration, err error) {
			defer try.Catch(&err)
			victim = holder
			at := try.Get(g.setAPIs(m, lab.APIEtcd, ""))
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
			return at, nil
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
		res, err := g.run("apiserver restored", lab.MeasureConfig{HTTPS: true}, func(m *lab.Measurement, holder *lab.Node) (_ time.Duration, err error) {
			defer try.Catch(&err)
			victim = holder
			at := m.Mark("apiserver on %s: 500", holder.Label)
			try.Do(holder.API().Set(lab.API500, ""))
			try.Get(until(5*time.Second, "the address moves", func() bool { return !holder.Holds(g.Addresses[0]) }))
			time.Sleep(g.span())
			try.Do(holder.API().Set(lab.APIHealthy, ""))
			back = m.Mark("apiserver on %s is well again", holder.Label)
			time.Sleep(watch)
			return at, nil
		})
		if victim != nil {
			err = errors.Join(err, victim.API().Set(lab.APIHealthy, ""), g.healthy())
		}
		if err != nil {
			return nil, fmt.Errorf("trial: apiserver restored: %w", err)
		}
		res.Answered = 0
		for _, b := range res.Report.Binds {
			if b.Added && b.Node == victim.ID && b.Address == g.Addresses[0] && b.At >= back {
				res.Answered = b.At - back
				break
			}
		}
		return res, nil
	}
}

// Gatewayed runs keepvip with one check: the router of the default route, which
// is the client, has to answer.
type Gatewayed struct{ Keepvip }

func (p Gatewayed) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	router := n.Client()
	for _, via := range []string{router.Address.String(), router.Addr6.String()} {
		try.Get(n.Run("ip", "route", "replace", "default", "via", via))
	}
	file := fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [%s]\n  interface: %s\n  priority: %d\n"+
		"  vrrp: {advertisementInterval: %v}\n  checks: [{kind: gateway}]\n", quoted(s.Addresses), n.NICs[0].Name, s.Priority, s.Interval)
	return p.Run(n, "--config", try.Get(n.WriteFile("keepvip.yaml", file, 0o644)))
}

// routerTable drops what the router answers to the node.
const routerTable = `table netdev lab {
	chain in {
		type filter hook ingress device "%s" priority -10; policy accept;
		ether saddr %s arp operation reply drop
		ether saddr %s icmpv6 type nd-neighbor-advert drop
	}
}
`

// RouterLost keeps the answers of the router from the holder for a while.
func RouterLost(watch time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		return g.whileItLasts(nodeFault{"router lost", func(n *lab.Node) error {
			mac := g.Lab.Client.MAC
			return try.Err(n.RunInput(fmt.Sprintf(routerTable, n.NICs[0].Name, mac, mac), "nft", "-f", "-"))
		}, func(n *lab.Node) error {
			_, err := n.Run("nft", "delete", "table", "netdev", "lab")
			return errors.Join(err, g.healthy())
		}}, lab.MeasureConfig{}, watch)
	}
}
