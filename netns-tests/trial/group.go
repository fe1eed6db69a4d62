package trial

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// bothVIPs are a virtual address of each family.
var bothVIPs = []netip.Addr{lab.VIP4, lab.VIP6}

// Group is one product on all nodes of a lab.
type Group struct {
	Lab       *lab.Lab
	Product   Product
	Addresses []netip.Addr
	Settings  []Settings // by node
	Daemons   []*lab.Process
}

// Config says how a group is set up.
type Config struct {
	Lab        lab.Config
	Product    Product       // nil = Keepvip
	Addresses  []netip.Addr  // none = lab.VIP4
	Priorities []int         // by node, none = 100 everywhere
	Interval   time.Duration // 0 = 100 ms
	API        bool          // start an apiserver on every node and follow it
}

// Prepare opens a lab for a group and starts the apiservers, but no daemon.
func Prepare(host *lab.Host, cfg Config) (_ *Group, err error) {
	defer try.Catch(&err)
	if cfg.Product == nil {
		cfg.Product = Keepvip{}
	}
	if len(cfg.Addresses) == 0 {
		cfg.Addresses = []netip.Addr{lab.VIP4}
	}
	if cfg.Interval == 0 {
		cfg.Interval = 100 * time.Millisecond
	}
	l := try.Get(host.Open(cfg.Lab))
	g := &Group{Lab: l, Product: cfg.Product, Addresses: cfg.Addresses, Daemons: make([]*lab.Process, len(l.Nodes))}
	for i, n := range l.Nodes {
		s := Settings{Priority: 100, Interval: cfg.Interval, Addresses: cfg.Addresses, API: cfg.API}
		if i < len(cfg.Priorities) {
			s.Priority = cfg.Priorities[i]
		}
		g.Settings = append(g.Settings, s)
		if cfg.API {
			if _, err := n.StartAPIServer(); err != nil {
				l.Close()
				return nil, err
			}
		}
	}
	return g, nil
}

// Open prepares a group, starts all daemons and waits for the holder.
func Open(host *lab.Host, cfg Config) (*Group, error) {
	return openBy(host, cfg, func(g *Group) { try.Do(g.StartAll()) })
}

// openBy prepares a group, has start start its daemons, whose steps are caught, and waits for the holder.
func openBy(host *lab.Host, cfg Config, start func(*Group)) (_ *Group, err error) {
	defer try.Catch(&err)
	g := try.Get(Prepare(host, cfg))
	_, err = try.Of(func() *lab.Node {
		start(g)
		return try.Get(g.Settle())
	})
	if err != nil {
		g.Close()
	}
	return g, err
}

// Close removes the lab.
func (g *Group) Close() { g.Lab.Close() }

// catch is deferred: it is [try.Catch], and an error has what the daemons have logged.
func (g *Group) catch(err *error) { g.explain(recover(), err) }

// end is deferred: it is catch and Close.
func (g *Group) end(err *error) {
	g.explain(recover(), err)
	g.Close()
}

func (g *Group) explain(recovered any, err *error) {
	if try.Caught(recovered, err); *err != nil {
		*err = fmt.Errorf("%w\n%s", *err, g.Logs())
	}
}

// Start starts the product on a node.
func (g *Group) Start(n *lab.Node) (err error) {
	defer try.Catch(&err)
	g.Daemons[n.ID-1] = try.Get(g.Product.Start(n, g.Settings[n.ID-1]))
	return nil
}

// StartAll starts the product on every node.
func (g *Group) StartAll() (err error) {
	defer try.Catch(&err)
	for _, n := range g.Lab.Nodes {
		try.Do(g.Start(n))
	}
	return nil
}

// Daemon is the product's process on the node.
func (g *Group) Daemon(n *lab.Node) *lab.Process { return g.Daemons[n.ID-1] }

// Holders lists the nodes that have the first address.
func (g *Group) Holders() []*lab.Node {
	var holders []*lab.Node
	for _, n := range g.Lab.Nodes {
		if g.holds(n, g.Addresses[0]) {
			holders = append(holders, n)
		}
	}
	return holders
}

// holds reports whether the node has the address, and is its holder.
func (g *Group) holds(n *lab.Node, a netip.Addr) bool {
	if p, ok := g.Product.(holding); ok {
		return p.Holds(n, a)
	}
	return n.Holds(a)
}

// holdsAll reports whether the node has every address.
func (g *Group) holdsAll(n *lab.Node) bool {
	return !slices.ContainsFunc(g.Addresses, func(a netip.Addr) bool { return !g.holds(n, a) })
}

// settled reports whether the holder may keep the address for good: no running
// node has a higher priority.
func (g *Group) settled(holder *lab.Node) bool {
	for i, p := range g.Daemons {
		if p != nil && p.Alive() && g.Settings[i].Priority > g.Settings[holder.ID-1].Priority {
			return false
		}
	}
	return true
}

// SettleLimit is how long a group may take to agree.
const SettleLimit = time.Minute

// Settle waits until one node has held all addresses alone for four intervals, in which
// any other that does not hear it would have taken them, at least 500 ms, has the best
// priority of those running, and is answered by a client; it returns that node.
func (g *Group) Settle() (*lab.Node, error) { return g.settle(true) }

// SettleAny is [Group.Settle] without regard to priorities.
func (g *Group) SettleAny() (*lab.Node, error) { return g.settle(false) }

func (g *Group) settle(best bool) (*lab.Node, error) {
	steady := max(4*g.Settings[0].Interval, 500*time.Millisecond)
	limit := SettleLimit + 10*g.Settings[0].Interval
	var holder *lab.Node
	var since time.Time
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		holders := g.Holders()
		if len(holders) != 1 || !g.holdsAll(holders[0]) || best && !g.settled(holders[0]) {
			holder = nil
			continue
		}
		if holder != holders[0] {
			holder, since = holders[0], time.Now()
			continue
		}
		if time.Since(since) >= steady && g.reachable() && slices.Equal(g.Holders(), holders) { // not by another node since
			return holder, nil
		}
	}
	return nil, fmt.Errorf("trial: %s did not settle on one holder within %v: %s\n%s", g.Product.Name(), limit, g.describe(), g.Logs())
}

func (g *Group) reachable() bool {
	return !slices.ContainsFunc(g.Addresses, func(a netip.Addr) bool {
		return !g.Lab.Reaches(g.Lab.Client.Namespace, a, time.Second)
	})
}

func (g *Group) describe() string {
	var parts []string
	for _, n := range g.Lab.Nodes {
		state := "no daemon"
		if p := g.Daemon(n); p != nil {
			state = map[bool]string{true: "running", false: "ended"}[p.Alive()]
		}
		byLink, _ := n.Addresses()
		parts = append(parts, fmt.Sprintf("%s %s %v", n.Label, state, byLink))
	}
	return strings.Join(parts, "; ")
}

// Logs returns the end of every daemon's output, for a failure message.
func (g *Group) Logs() string {
	var b strings.Builder
	for _, n := range g.Lab.Nodes {
		p := g.Daemon(n)
		if p == nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
		fmt.Fprintf(&b, "--- %s on %s\n%s\n", p.Name, n.Label, strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
	return b.String()
}

// Settings are what a trial may ask of any product.
type Settings struct {
	Priority  int
	Interval  time.Duration // Advertisement_Interval
	Addresses []netip.Addr
	VRID      int
	API       bool // follow the local apiserver's health
}

// Product is a program that keeps a virtual address.
type Product interface {
	Name() string
	Start(n *lab.Node, s Settings) (*lab.Process, error)
}

// downInterval is the Active_Down_Interval of RFC 9568 section 6.1.
func (s Settings) downInterval() time.Duration {
	return 3*s.Interval + s.Interval*time.Duration(256-s.Priority)/256
}
