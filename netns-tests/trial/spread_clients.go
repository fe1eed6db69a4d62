package trial

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// saidWithin is for how long members need to say who their clients are, each once, when they have counted them.
const saidWithin = 3 * time.Second

// clientsAreKnown waits until the members know of so many connections, or of those that live where the address has moved since, and have told each other
// whose they are.
func (s *Spreading) clientsAreKnown(count int) (err error) {
	defer try.Catch(&err)
	nodes := s.Running
	switch {
	case s.product.Masquerade:
		nodes = s.Holders // who alone counts them
	case s.product.Tier != nil:
		nodes = s.balancers // a member knows those of its own cluster
	}
	for end := time.Now().Add(SettleLimit); ; time.Sleep(50 * time.Millisecond) {
		counting := nodes()
		known := len(counting) > 0
		for _, n := range counting {
			got := try.Get(s.connections(n))
			known = known && got >= min(count, s.alive(s.Lab.Nodes...))
		}
		if known {
			time.Sleep(saidWithin)
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("trial: the members do not know of %d connections\n%s", count, s.Tables())
		}
	}
}

// connections is how many there are, as a node knows them.
func (s *Spreading) connections(n *lab.Node) (sum int, err error) {
	var doc struct {
		VIPs []struct {
			Spread struct {
				Members []struct {
					Connections int `json:"connections"`
				} `json:"members"`
			} `json:"spread"`
		} `json:"vips"`
	}
	if err := askStatus(n, answerLimit, &doc); err != nil {
		return 0, err
	}
	for _, v := range doc.VIPs {
		for _, m := range v.Spread.Members {
			sum += m.Connections
		}
	}
	return sum, nil
}

// balancers are the nodes of a tier before all clusters whose daemon runs.
func (s *Spreading) balancers() []*lab.Node {
	return slices.DeleteFunc(s.Running(), func(n *lab.Node) bool { return !s.product.Tier.balances(n) })
}

// Shared is how new connections were divided.
type Shared struct {
	lab.Sampled
	Target netip.AddrPort
	Count  int    // connections that were begun
	Holder string // the node that held the address when the last one had ended; "": none, or several
}

// Share has a client begin so many connections when all that are to serve do so: these nodes, or, with none, all members that run.
func (s *Spreading) Share(from *lab.Namespace, target netip.AddrPort, count int, serving ...*lab.Node) (Shared, error) {
	ready := s.Ready
	if len(serving) > 0 {
		ready = func() error { return s.ServedBy(serving...) }
	}
	got := Shared{Target: target, Count: count}
	err := ready()
	if err == nil {
		got.Sampled, err = s.Lab.Sample(from, target, count)
	}
	if holders := s.Holders(); len(holders) == 1 {
		got.Holder = holders[0].Label
	}
	return got, err
}

// Findings compares with how far off its even share a member may be, in per cent.
func (s Shared) Findings(members int, limit float64) Findings {
	return Findings{
		{What: fmt.Sprintf("%d to %s (%s): worst off by", s.Count, s.Target, s.Sampled), Got: s.Worst(members), Limit: limit, Unit: "%"},
		none("failed", s.Count-s.Served()),
	}
}

// KeptWatches is what an event did to watches.
type KeptWatches struct {
	Count    int // all watches
	ByNode   map[string]int
	Restarts []lab.WatchEnd // of watches that had to begin again
	Again    int            // connections that clients had to open again
	Missed   int            // events that a watch was not told of
	Silence  time.Duration
	// Strangers are requests whose client is another one to the server than it is to itself.
	Strangers int
}

// KeepWatches has an event happen while clients on the link and behind the router watch, over as many connections of each in each family, with
// so many watches on each.
func (s *Spreading) KeepWatches(e SpreadEvent, connections, each int) (_ KeptWatches, err error) {
	defer try.Catch(&err)
	try.Do(s.Ready())
	var servers []*lab.WatchServer
	defer func() {
		for _, server := range servers {
			server.Close()
		}
	}()
	for _, n := range s.Lab.Nodes {
		servers = append(servers, try.Get(n.StartWatchServer(downloadTarget)))
	}
	x := try.Get(s.move(e))
	all, err := s.watchAll(connections, each)
	if err == nil {
		_, err = e.Do(x)
	}
	var reports []lab.WatchesReport
	for _, w := range all {
		reports = append(reports, w.Stop())
	}
	x.Measurement.Stop()
	if err != nil {
		return KeptWatches{}, fmt.Errorf("trial: %s: %w", e.Name, err)
	}
	got := watchedOf(reports, connections, servers)
	if e.Undo != nil {
		err = e.Undo(x)
	}
	return got, err
}

func (s *Spreading) watchAll(connections, each int) (all []*lab.Watches, err error) {
	for _, from := range s.clients() {
		for _, a := range s.Addresses {
			w, failed := s.Lab.Watch(from, lab.WatchesConfig{Target: netip.AddrPortFrom(a, DownloadPort), Clients: connections, Each: each, Path: "/watch"})
			if failed != nil {
				return all, errors.Join(err, failed)
			}
			all = append(all, w)
		}
	}
	return all, nil
}

func watchedOf(reports []lab.WatchesReport, connections int, servers []*lab.WatchServer) KeptWatches {
	got := KeptWatches{ByNode: map[string]int{}}
	own := map[netip.AddrPort]bool{}
	for _, r := range reports {
		got.Count += r.Count
		got.Again += r.Connections - connections
		got.Missed += r.Missed
		got.Silence = max(got.Silence, r.Silence)
		got.Restarts = append(got.Restarts, r.Restarts...)
		for node, n := range r.ByNode {
			got.ByNode[node] += n
		}
		for _, a := range r.Own {
			own[a] = true
		}
	}
	for _, server := range servers {
		for _, client := range server.Audit() {
			got.Strangers += count(!own[client])
		}
	}
	return got
}

// Findings compares with what is promised.
func (w KeptWatches) Findings() Findings {
	what := "restarts"
	if len(w.Restarts) > 0 {
		what += " ("
		for _, r := range w.Restarts[:min(len(w.Restarts), 3)] {
			what += strings.ReplaceAll(r.How, "\n", " ") + "; "
		}
		what = strings.TrimSuffix(what, "; ") + ")"
	}
	shares := ""
	for _, node := range slices.Sorted(maps.Keys(w.ByNode)) {
		shares += fmt.Sprintf(" %s %d", node, w.ByNode[node])
	}
	return Findings{
		{What: "watches:" + shares + ", in all", Got: float64(w.Count), Limit: -1},
		none(what, len(w.Restarts)), none("connections opened again", w.Again), none("events missed", w.Missed), none("another client in the audit log", w.Strangers),
		told("longest silence, of events each 50 ms", w.Silence),
	}
}

// keepsWatches are the events that no watch may be lost by.
func keepsWatches() []Case {
	var list []Case
	for _, e := range SpreadEvents() {
		if e.Stall > 0 || e.Running > 0 { // a node dies with its watches
			continue
		}
		list = append(list, Case{Name: e.Name, Run: func(host *lab.Host, _ int) (_ Findings, err error) {
			defer try.Catch(&err)
			s := try.Get(OpenSpread(host, SpreadConfig{}))
			defer s.end(&err)
			return try.Get(s.KeepWatches(e, 10, 3)).Findings(), nil
		}})
	}
	return list
}

// Tier is what two machines of their own receive, and send on to the nodes of clusters behind them: the first two nodes of a lab hold the
// addresses, and those of the clusters follow. One file has each entry unchanged on all nodes that it is about.
type Tier struct {
	Clusters int // of three nodes each; the second one has [SecondVIP]
}

const (
	balancers    = 2
	clusterNodes = 3
)

// TierNodes is how many nodes a lab with so many clusters has.
func TierNodes(clusters int) int { return balancers + clusters*clusterNodes }

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
		list = append(list, Case{Name: e.Name, Run: func(host *lab.Host, times int) (_ Findings, err error) {
			defer try.Catch(&err)
			var sum Kept
			s := try.Get(OpenSpread(host, TierOf(2)))
			defer s.end(&err)
			for range max(times/4, 1) {
				sum.add(try.Get(s.Keep(e, spreadConnected)))
			}
			return sum.Findings(e), nil
		}})
	}
	return list
}

// TierOf is a lab of two balancers before so many clusters.
func TierOf(clusters int) SpreadConfig {
	return SpreadConfig{Nodes: TierNodes(clusters), Product: WithSpread{Checked: true, Tier: &Tier{Clusters: clusters}}}
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
