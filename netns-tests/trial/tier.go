package trial

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Tier is what two machines of their own receive, and send on to the nodes of clusters behind them: the first two nodes of a lab hold the
// addresses, and those of the clusters follow. One file has each entry unchanged on all nodes that it is about.
type Tier struct {
	Clusters int // of three nodes each; the second one has [SecondVIP]
}

const (
	balancers    = 2
	clusterNodes = 3
)

// cluster is one of those behind the balancers.
type cluster struct {
	index    int // from 0
	name, id string
}

// of are the clusters that a node has entries for: the balancers have all.
func (t *Tier) of(n *lab.Node) []cluster {
	var list []cluster
	for i := range t.Clusters {
		c := cluster{index: i, name: "apiserver"}
		if i > 0 {
			c.name, c.id = "second", "id: 77, "
		}
		if t.balances(n) || c.has(n) {
			list = append(list, c)
		}
	}
	return list
}

// balances tells whether a node holds addresses, and serves nothing.
func (t *Tier) balances(n *lab.Node) bool { return t != nil && n.ID <= balancers }

// serves tells whether a node is to serve a target.
func (t *Tier) serves(n *lab.Node, target netip.AddrPort) bool {
	if t == nil {
		return true
	}
	c := cluster{}
	if target.Addr() == SecondVIP {
		c.index = 1
	}
	return c.has(n)
}

func (c cluster) first() int { return balancers + c.index*clusterNodes + 1 }

func (c cluster) has(n *lab.Node) bool { return n.ID >= c.first() && n.ID < c.first()+clusterNodes }

// addresses are those of the cluster's entry; the first cluster has those of the group.
func (c cluster) addresses(group []netip.Addr) []netip.Addr {
	if c.index == 0 {
		return group
	}
	return []netip.Addr{SecondVIP}
}

// option is the entry's own part.
func (c cluster) option() string {
	return fmt.Sprintf("  candidates: [%s]\n  spread:\n    via: direct\n    ports: [{port: %d, target: %d}]\n    members: [%s]\n",
		nodesFrom(1, balancers), SpreadPort, spreadTarget, nodesFrom(c.first(), clusterNodes))
}

// nodesFrom are the own addresses of so many nodes.
func nodesFrom(first, count int) string {
	var list []string
	for id := range count {
		list = append(list, netip.AddrFrom4([4]byte{10, 77, 0, byte(10 + first + id)}).String())
	}
	return strings.Join(list, ", ")
}

// tierConnections are what two balancers before two clusters of three go through, and what the nodes behind them do.
func tierConnections() []Case {
	var list []Case
	for _, e := range TierEvents() {
		list = append(list, Case{Name: e.Name, Run: inside(OpenSpread, TierOf(2), func(s *Spreading, times int) Findings {
			var sum Kept
			for range max(times/4, 1) {
				sum.add(try.Get(s.Keep(e, spreadConnected)))
			}
			return sum.Findings(e)
		})})
	}
	return list
}

// TierOf is a lab of two balancers before so many clusters.
func TierOf(clusters int) SpreadConfig {
	return SpreadConfig{Nodes: balancers + clusters*clusterNodes, Product: WithSpread{Checked: true, Tier: &Tier{Clusters: clusters}}}
}

// TierEvents are what connections through balancers have to outlive.
func TierEvents() []SpreadEvent {
	holder := func(x *SpreadMove) *lab.Node { return x.Holder }
	member := func(x *SpreadMove) *lab.Node { return x.Member }
	events := []SpreadEvent{
		{Name: "a member drains, the balancer hands over, the member returns", Do: func(x *SpreadMove) (*lab.Node, error) {
			return nil, sequence(x.verb(x.Member, "drain"), x.watched, x.passesOn, x.watched, x.verb(x.Member, "resume"), x.watched)
		}},
		{Name: "an apiserver ends", Stall: 50 * time.Millisecond, Do: func(x *SpreadMove) (*lab.Node, error) {
			x.mark("the apiserver of %s ends", x.Member.Label)
			_, err := x.Member.WriteFile("unhealthy", "", 0o644)
			x.unserve(x.Member)
			return x.Member, sequence(func() error { return err }, x.watched, x.watched)
		}, Undo: func(x *SpreadMove) error { return x.healthy(x.Member) }},
	}
	balancer := tierNodeEvents("the balancer that holds the address", holder)
	dies := slices.IndexFunc(balancer, func(e SpreadEvent) bool { return strings.HasSuffix(e.Name, "node dies") })
	events = append(append(append(events, balancer[dies]), balancer[:dies]...), balancer[dies+1:]...)
	other := tierNodeEvents("the other balancer", func(x *SpreadMove) *lab.Node { return x.Lab.Nodes[balancers-x.Holder.ID] })
	return append(append(events, other[0], other[dies]), tierNodeEvents("a member", member)...)
}

// tierNodeEvents are those of a node, without its neighbours as clients: to the members of one cluster those of another are hosts like any.
func tierNodeEvents(name string, who func(*SpreadMove) *lab.Node) []SpreadEvent {
	return slices.DeleteFunc(nodeEvents(name, who), func(e SpreadEvent) bool { return e.From != nil })
}

// healthy starts the server of a node again.
func (x *SpreadMove) healthy(n *lab.Node) error {
	return sequence(func() error { return x.serve(n) }, func() error { return os.Remove(Unhealthy(n)) }, x.settledAgain)
}

// Backends is a group of two load balancers before two servers that run no keepvip.
func Backends() SpreadConfig {
	return SpreadConfig{Nodes: 4, Running: 2, Product: WithSpread{Masquerade: true, Backends: 2}}
}

// backends are the servers without keepvip.
func (s *Spreading) backends() []*lab.Node { return s.Lab.Nodes[len(s.Lab.Nodes)-s.product.Backends:] }

// backendTold is when clients of a backend that is dead are told: its check fails three times, each after 300 ms, and its host leaves three
// questions without an answer, before its connections are ended.
const backendTold = 2500 * time.Millisecond

// BackendEvents happen to one of them: its own connections end, and those to the other go on. New ones all go to the other.
func BackendEvents() []SpreadEvent {
	return []SpreadEvent{
		{Name: "a backend's service ends and returns", Do: func(x *SpreadMove) (*lab.Node, error) {
			b := x.backends()
			x.mark("the service of %s ends", b[0].Label)
			x.unserve(b[0])
			return b[0], x.ServedBy(b[1:]...)
		}, Undo: func(x *SpreadMove) error {
			return sequence(func() error { return x.serve(x.backends()[0]) }, x.Ready)
		}},
		{Name: "a backend's node dies", Told: backendTold, Do: func(x *SpreadMove) (*lab.Node, error) {
			b := x.backends()
			x.mark("%s dies", b[0].Label)
			_, err := b[0].PowerOff()
			x.unserve(b[0])
			return b[0], sequence(func() error { return err }, func() error { return x.ServedBy(b[1:]...) }, x.watched)
		}, Undo: func(x *SpreadMove) error {
			b := x.backends()[0]
			return sequence(b.PowerOn, func() error { return x.serve(b) }, x.Ready)
		}},
	}
}

// backed is what two load balancers do with connections to servers that run no keepvip.
func backed(s *Spreading, _ bool) Findings { return s.translated(s.backends(), BackendEvents()) }
