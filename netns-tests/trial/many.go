package trial

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// many is a product with one virtual router for each address, VRIDs from 1.
type many struct {
	run       Runner
	addresses []netip.Addr
}

func (many) Name() string { return "many instances" }

func (p many) Start(n *lab.Node, s Settings) (*lab.Process, error) {
	routers := make([]Router, len(p.addresses))
	for i, a := range p.addresses {
		s.VRID, s.Addresses = i+1, []netip.Addr{a}
		routers[i] = Router{Name: fmt.Sprintf("r%d", i+1), Settings: s}
	}
	return p.run(n, routers...)
}

// OpenMany opens a group of three nodes with so many virtual routers each, at
// most 255. They have priorities 200/150/100; the group's addresses are only
// the first, the middle and the last one, which stand for the others.
func OpenMany(host *lab.Host, run Runner, count int, interval time.Duration) (*Group, error) {
	p := many{run: run}
	for i := range count {
		p.addresses = append(p.addresses, netip.AddrFrom4([4]byte{10, 88, 0, byte(i + 1)}))
	}
	some := []netip.Addr{p.addresses[0], p.addresses[count/2], p.addresses[count-1]}
	return openBy(host, Config{Product: p, Addresses: some, Priorities: []int{200, 150, 100}, Interval: interval}, func(g *Group) {
		try.Get(g.Lab.Client.Run("ip", "route", "add", "10.88.0.0/24", "dev", "eth0"))
		try.Do(g.StartAll())
	})
}

// ManyDie measures what the holder of many routers costs for a while, then lets
// it die. Answered becomes the time until the last address is bound elsewhere.
func ManyDie(idle time.Duration) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		p, ok := g.Product.(many)
		if !ok {
			return nil, fmt.Errorf("trial: %s has not many instances", g.Product.Name())
		}
		var cpu float64
		var rss int64
		var victim *lab.Node
		try.Do(g.bestHoldsAll(p))
		res := try.Get(g.run("node death", lab.MeasureConfig{NoDirect: true}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			victim = holder
			before, began := g.cpu(), time.Now()
			time.Sleep(idle)
			cpu = float64(g.cpu()[holder.ID-1]-before[holder.ID-1]) / float64(time.Since(began)) * 100
			rss = try.Get(g.Daemon(holder).TreeRSS())
			at := try.Get(holder.PowerOff())
			m.MarkAt(at, "%s dies", holder.Label)
			time.Sleep(g.Settings[0].downInterval() + time.Second)
			for end := time.Now().Add(manyLimit); time.Now().Before(end) && !g.elsewhere(p.addresses, holder); {
				time.Sleep(100 * time.Millisecond)
			}
			return at
		}))
		res.CPU, res.RSS = cpu, rss
		last, bound := time.Duration(0), 0
		for i, a := range p.addresses {
			if at := firstBind(res.Report, a, res.FaultAt, anyNode); at > 0 {
				bound, last = bound+1, max(last, at-res.FaultAt)
			} else {
				res.addNote("%s was not bound: now on %v, advertised before by %v", a, g.whereIs(a), advertisers(res.Report, i+1, res.FaultAt))
			}
		}
		res.Answered = last
		res.addNote("%d of %d addresses bound after %s ms", bound, len(p.addresses), lab.Milliseconds(last))
		if bound < len(p.addresses) {
			res.Answered = time.Hour // never
		}
		return res, g.reboot(victim)
	}
}

// joinLimit is how long a node may take to join the elections of all its routers.
const joinLimit = time.Minute

// bestHoldsAll waits until the node with the best priority has every address.
func (g *Group) bestHoldsAll(p many) error {
	return insist(joinLimit, 100*time.Millisecond, func() error {
		missing, err := without(p.addresses, g.Lab.Nodes[0])
		if err == nil && len(missing) > 0 {
			err = fmt.Errorf("trial: n1 has the best priority and did not take %d of %d addresses within %v: %v", len(missing), len(p.addresses), joinLimit, missing)
		}
		return err
	})
}

// manyLimit is how much longer is waited for the last address of many on a machine that stands still: the figure says how long it took.
const manyLimit = 10 * time.Second

// elsewhere tells whether other nodes have these addresses.
func (g *Group) elsewhere(addresses []netip.Addr, than *lab.Node) bool {
	others := g.Others(than)
	missing, err := without(addresses, others...)
	return err == nil && len(missing) == 0
}

// without are those of the addresses that none of the nodes has.
func without(addresses []netip.Addr, nodes ...*lab.Node) (_ []netip.Addr, err error) {
	defer try.Catch(&err)
	held := map[netip.Addr]bool{}
	for _, n := range nodes {
		for _, a := range slices.Concat(slices.Collect(maps.Values(try.Get(n.Addresses())))...) {
			held[a] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool { return held[a] }), nil
}

// whereIs lists the nodes that have an address now.
func (g *Group) whereIs(a netip.Addr) []string {
	var on []string
	for _, n := range g.Lab.Nodes {
		if n.Holds(a) {
			on = append(on, n.Label)
		}
	}
	return on
}

// advertisers lists the nodes that advertised a VRID in the two seconds before.
func advertisers(r *lab.Report, vrid int, before time.Duration) []int {
	var nodes []int
	for _, a := range r.Adverts {
		if a.VRID == vrid && a.At < before && a.At > before-2*time.Second && !slices.Contains(nodes, a.Node) {
			nodes = append(nodes, a.Node)
		}
	}
	return nodes
}
