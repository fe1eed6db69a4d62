package trial

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// SecondVIP is the address of the second entry, and SecondPort its port, with the same target as the first one's.
var SecondVIP = netip.MustParseAddr("10.77.0.101")

// The ports that are spread, as clients know them and as the nodes listen.
const (
	SpreadPort      = 9443
	SecondPort      = 5000
	SpreadTarget    = 7443
	spreadTarget    = SpreadTarget
	DownloadPort    = 9444
	downloadTarget  = 7444
	watchedPort     = 7445
	DownloadSize    = 200_000
	spreadConnected = 600 // connections that the promises are about
)

// SpreadConfig says what a group with its load spread is like.
type SpreadConfig struct {
	Nodes   int // 0 = 3
	Running int // the first so many run at the beginning, 0 = all
	Product WithSpread
	// V4 has one IPv4 address alone, where both families would be the same twice.
	V4 bool
	// V6 has one IPv6 address alone: the election is carried by IPv6, where members know each other by link-local addresses.
	V6       bool
	Interval time.Duration // 0 = 100 ms
	// Both has servers on the address, too, as the holder serves by itself what is not spread.
	Both bool
}

// Spreading is a group whose load is spread, with a server on each node.
type Spreading struct {
	*Group
	product  WithSpread
	both     bool
	greeters []*lab.Greeter // by node
	held     []*lab.Held
	every    time.Duration    // of the pings on connections, 0 = 50 ms
	from     []*lab.Namespace // who holds connections; nil: the clients
}

// OpenSpread opens a lab with clients on the link and behind a router, and waits until each member that runs serves.
func OpenSpread(host *lab.Host, cfg SpreadConfig) (*Spreading, error) {
	return openSpread(host, cfg, func(n *lab.Node) error {
		if !cfg.Product.Masquerade {
			return nil
		}
		return errors.Join(n.Sysctl("net/ipv4/ip_forward", "1"), n.Sysctl("net/ipv6/conf/all/forwarding", "1"))
	})
}

// openSpread is [OpenSpread] of nodes that are changed before.
func openSpread(host *lab.Host, cfg SpreadConfig, before func(*lab.Node) error) (_ *Spreading, err error) {
	defer try.Catch(&err)
	addresses := []netip.Addr{lab.VIP4, lab.VIP6}
	switch {
	case cfg.V4:
		addresses = addresses[:1]
	case cfg.V6:
		addresses = addresses[1:]
	}
	g := try.Get(Prepare(host, Config{Product: cfg.Product, Addresses: addresses, Interval: cfg.Interval, Lab: lab.Config{Nodes: cfg.Nodes, OffLink: true}}))
	s := &Spreading{Group: g, product: cfg.Product, both: cfg.Both, greeters: make([]*lab.Greeter, len(g.Lab.Nodes))}
	for _, n := range g.Lab.Nodes {
		err = errors.Join(err, before(n))
	}
	if err == nil {
		err = s.begin(cfg.Running)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, g.Logs())
		g.Close()
		return nil, err
	}
	return s, nil
}

func (s *Spreading) begin(running int) (err error) {
	defer try.Catch(&err)
	for _, n := range s.Lab.Nodes {
		try.Do(s.serve(n))
	}
	if running == 0 {
		running = len(s.Lab.Nodes)
	}
	for _, n := range s.Lab.Nodes[:running] {
		try.Do(s.Start(n))
	}
	return s.Ready()
}

// serve starts the servers of a node. With spread they have the node's own addresses alone.
func (s *Spreading) serve(n *lab.Node) (err error) {
	defer try.Catch(&err)
	if s.product.Tier.balances(n) {
		return nil
	}
	at := lab.GreeterConfig{Port: spreadTarget}
	if s.product.Watched {
		at.Quiet = watchedPort
	}
	if s.product.Off {
		at = lab.GreeterConfig{Port: SpreadPort, Everywhere: true}
	}
	s.greeters[n.ID-1] = try.Get(n.StartGreeter(at))
	if s.both {
		at = lab.GreeterConfig{Port: spreadTarget + SpreadPort - at.Port, Everywhere: at.Port == spreadTarget}
		_, err = n.StartGreeter(at)
	}
	return err
}

// Turn has all nodes spread the load from now on, or no more, by a reload of one after the other, and waits until clients see it. The holder,
// which has to know where all connections are, is the last to begin and the first to end; reversed it is the other way round.
func (s *Spreading) Turn(on, reversed bool) (err error) {
	defer try.Catch(&err)
	s.product.Off = !on
	pause := time.Duration(0)
	if reversed { // each is a change of its own
		pause = s.span()
	}
	try.Do(s.reloadEach(on == reversed, pause))
	if on {
		return s.Ready()
	}
	try.Get(s.SettleAny())
	return s.served(s.Targets(), s.Holders)
}

// Masquerade has the load spread by masquerade from now on, or directly: one node after the other is reloaded, the holder last.
func (s *Spreading) Masquerade(on bool) error {
	s.product.Masquerade = on
	return sequence(func() error { return s.reloadEach(false, 0) }, s.Ready)
}

// reloadEach gives one node after the other the product as it is now, with a pause after each, the holder first or last.
func (s *Spreading) reloadEach(holderFirst bool, pause time.Duration) (err error) {
	defer try.Catch(&err)
	holders := s.Holders()
	nodes := slices.DeleteFunc(slices.Clone(s.Lab.Nodes), func(n *lab.Node) bool { return slices.Contains(holders, n) })
	if holderFirst {
		nodes = slices.Concat(holders, nodes)
	} else {
		nodes = append(nodes, holders...)
	}
	for _, n := range nodes {
		try.Get(s.product.configure(n, s.Settings[n.ID-1]))
		try.Do(s.product.reload(n))
		time.Sleep(pause)
	}
	return nil
}

// unserve ends them.
func (s *Spreading) unserve(n *lab.Node) {
	if g := s.greeters[n.ID-1]; g != nil {
		g.Close()
	}
}

// Running are the nodes whose daemon runs.
func (s *Spreading) Running() []*lab.Node {
	return slices.DeleteFunc(slices.Clone(s.Lab.Nodes), func(n *lab.Node) bool { return s.Daemon(n) == nil || !s.Daemon(n).Alive() })
}

// Targets are where clients connect to.
func (s *Spreading) Targets() []netip.AddrPort {
	var list []netip.AddrPort
	for _, a := range s.Addresses {
		list = append(list, netip.AddrPortFrom(a, SpreadPort))
	}
	if t := s.product.Tier; t != nil && t.Clusters > 1 {
		list = append(list, netip.AddrPortFrom(SecondVIP, SpreadPort))
	}
	return list
}

// clients are those on the link and behind the router.
func (s *Spreading) clients() []*lab.Namespace {
	return []*lab.Namespace{s.Lab.Client.Namespace, s.Lab.OffLink.Namespace}
}

// Ready waits until there is a holder, and all members that run, and only they, serve new connections in each family.
func (s *Spreading) Ready() (err error) {
	defer try.Catch(&err)
	try.Get(s.SettleAny())
	if s.product.Off {
		return nil
	}
	if s.product.Backends > 0 {
		return s.served(s.Targets(), s.backends)
	}
	for _, target := range s.Targets() {
		try.Do(s.served([]netip.AddrPort{target}, func() []*lab.Node { return s.servers(target) }))
	}
	return nil
}

// servers are the nodes that are to serve a target: all members that run, or those of its cluster.
func (s *Spreading) servers(target netip.AddrPort) []*lab.Node {
	return slices.DeleteFunc(s.Running(), func(n *lab.Node) bool { return !s.product.Tier.serves(n, target) })
}

// ServedBy waits until these nodes, and only they, serve new connections.
func (s *Spreading) ServedBy(nodes ...*lab.Node) error {
	return s.served(s.Targets(), func() []*lab.Node { return nodes })
}

// served waits until the nodes that are to serve, and only they, serve new connections to each target. Who is to may change meanwhile: the
// address moves where the machine stands still.
func (s *Spreading) served(targets []netip.AddrPort, who func() []*lab.Node) error {
	var last lab.Sampled
	var want []*lab.Node
	for end := time.Now().Add(SettleLimit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		all := true
		want = who()
		for _, target := range targets {
			var err error
			if last, err = s.Lab.Sample(s.Lab.Client.Namespace, target, 40*len(want)); err != nil {
				return err
			}
			if all = all && by(last, want) && len(last.Failures) == 0; !all {
				break
			}
		}
		if all {
			return nil
		}
	}
	return fmt.Errorf("trial: want %s to serve within %v, and nothing to fail: %s", labels(want), SettleLimit, last)
}

func labels(nodes []*lab.Node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Label)
	}
	return strings.Join(all, ", ")
}

// by reports whether these nodes answered, and no others.
func by(s lab.Sampled, want []*lab.Node) bool {
	return len(s.ByNode) == len(want) && !slices.ContainsFunc(want, func(n *lab.Node) bool { return s.ByNode[n.Label] == 0 })
}

// Hold has the clients hold so many connections more, the same number of each client in each family.
func (s *Spreading) Hold(count int) (err error) {
	defer try.Catch(&err)
	clients := s.from
	if clients == nil {
		clients = s.clients()
	}
	for _, from := range clients {
		for _, target := range s.Targets() {
			h := try.Get(s.Lab.Hold(from, lab.HeldConfig{Target: target, Count: count / len(clients) / len(s.Targets()), Every: s.every}))
			s.held = append(s.held, h)
		}
	}
	return nil
}

// alive is how many connections these nodes serve that are held and not lost.
func (s *Spreading) alive(nodes ...*lab.Node) (count int) {
	for _, h := range s.held {
		for _, n := range nodes {
			count += h.Alive(n.Label)
		}
	}
	return count
}

// Release ends the connections and says what became of them.
func (s *Spreading) Release() []lab.HeldReport {
	reports := make([]lab.HeldReport, len(s.held))
	var wait sync.WaitGroup
	for i, h := range s.held {
		wait.Go(func() { reports[i] = h.Stop() })
	}
	wait.Wait()
	s.held = nil
	return reports
}

// Tables are what the nodes say of how they spread, for a failure message.
func (s *Spreading) Tables() string {
	var b strings.Builder
	for _, n := range s.Running() {
		p, _, err := s.product.Command(n, "spread", "--socket", Socket(n))
		if err == nil {
			fmt.Fprintf(&b, "--- keepvip spread on %s\n%s", n.Label, p.Log())
		}
	}
	return b.String()
}
