package trial

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Replace stops what runs on the node, starts another daemon in its place, and
// measures until that one had time to preempt. The group's product must be
// [PerNode]. A takeover belongs to the node that leaves as holder, another to it
// when it comes back with the best priority.
func (g *Group) Replace(n *lab.Node, name string, with Runner) (_ *Result, err error) {
	defer try.Catch(&err)
	mixed, ok := g.Product.(PerNode)
	if !ok {
		return nil, fmt.Errorf("trial: replace on %s: the group runs %s alone", n.Label, g.Product.Name())
	}
	var victim *lab.Node
	if n.Holds(g.Addresses[0]) {
		victim = n
	}
	m := try.Get(g.watch("replacement", lab.MeasureConfig{}))
	time.Sleep(100 * time.Millisecond)
	at := m.Mark("%s on %s is replaced by %s", g.Daemon(n).Name, n.Label, name)
	err = terminate(g.Daemon(n))
	if err == nil {
		mixed.Runners[n.ID-1] = with
		err = g.Start(n)
		m.Mark("%s on %s starts", name, n.Label)
		s := g.Settings[n.ID-1]
		time.Sleep(Router{Settings: s, Flavor: mixed.Flavor}.DownInterval() + s.Interval + 500*time.Millisecond)
	}
	r := m.Stop()
	if err != nil {
		return nil, fmt.Errorf("trial: replace on %s: %w", n.Label, err)
	}
	res := g.result("replacement", at, victim, r)
	res.Stall = r.StallIn(at, r.Ended)
	return res, nil
}

// KubeadmGuide is the group of kubeadm's high-availability guide: VRRPv2 once a
// second, with its password, and one priority for both backups.
func KubeadmGuide(run Runner) Config {
	return Config{
		Product:    PerNode{Runners: []Runner{run, run, run}, Flavor: Flavor{Version: 2, Password: "42"}},
		Priorities: []int{101, 100, 100},
		Interval:   time.Second,
	}
}

// OpenMixed opens a group whose daemons share VRID 51.
func OpenMixed(host *lab.Host, cfg Config) (*Group, error) {
	return openBy(host, cfg, func(g *Group) {
		for i := range g.Settings {
			g.Settings[i].VRID = 51
		}
		try.Do(g.StartAll())
	})
}

// Move is one direction in which a group is replaced: the daemon that every
// node gets, and the nodes in their order.
type Move struct {
	Name string
	Run  Runner
	IDs  []int
}

// Moves replaces keepalived by keepvip and back, in the order of
// docs/migrate-keepalived.md: the holder, node 1, is the last to get keepvip and
// the first to get keepalived. So the two others, which have the same priority,
// run keepvip whenever the holder leaves. Two keepalived in their place become
// Master in the same moment; the one that yields may be the last to announce the
// address, and then its clients find nobody until the holder is back.
func Moves() []Move {
	return []Move{{"keepvip", RunKeepvip, []int{2, 3, 1}}, {"keepalived", RunKeepalived, []int{1, 2, 3}}}
}

// ReplaceAll replaces the keepalived on every node by keepvip and then all of
// them back. The result has the worst figures of the six steps, and the sum of
// their takeovers.
func ReplaceAll(g *Group) (_ *Result, err error) {
	defer try.Catch(&err)
	var sum *Result
	for _, to := range Moves() {
		for _, id := range to.IDs {
			res := try.Get(g.Replace(g.Lab.Nodes[id-1], to.Name, to.Run))
			if sum == nil {
				sum = res
				continue
			}
			sum.Outage, sum.Two, sum.Stall = max(sum.Outage, res.Outage), max(sum.Two, res.Two), max(sum.Stall, res.Stall)
			sum.Takeovers += res.Takeovers
			sum.Lost += res.Lost
		}
	}
	return sum, nil
}
