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

// routedAddress is in no subnet of the lab.
var routedAddress = netip.MustParseAddr("10.99.0.100")

// routeShow measures what becomes of the route at the router, with one routing daemon on the nodes.
type routeShow struct {
	lab *lab.Lab
	routeDaemon
	run   map[*lab.Node]*lab.Process // keepvip
	stop  func()                     // of the router
	began time.Time                  // when the newest fault began
}

// explain is that of [ofGroup]: the cases say themselves what has failed.
func (s *routeShow) explain(recovered any, err *error) { try.Caught(recovered, err) }

// Close ends the router, and removes the lab.
func (s *routeShow) Close() {
	s.stop()
	s.lab.Close()
}

// routing is the daemon of so many nodes.
type routing struct {
	routeDaemon
	nodes int
}

// routeDaemon is a routing daemon, with the promise for the median of what keepvip sees immediately.
type routeDaemon struct {
	name   string
	daemon func(*lab.Node, *lab.Peer) (*lab.Process, error)
	args   []string
	limit  time.Duration
}

// spreading is the same daemon where nodes send each packet to the one that has its connection.
func (d routeDaemon) spreading() routeDaemon {
	d.args = append([]string{"--spread", "direct"}, d.args...)
	return d
}

// checkTakes is how long the check takes to believe that the service answers 500: three times 300 ms.
const checkTakes = time.Second

// routeCases are the faults of a node with a route: those with one node say when the router has the route no more, and those with two how many requests
// from behind the router are lost.
func routeCases() (out []Case) {
	add := func(d routeDaemon, name string, brief bool, nodes int, run func(*routeShow, int) Findings) {
		out = append(out, Case{Name: d.name + ": " + name, Brief: brief, Run: inside(openRoutes, routing{d, nodes}, run)})
	}
	killsAPI := func(_ *routeShow, n *lab.Node) error { return n.API().Kill9() }
	killed := func(s *routeShow, n *lab.Node) error { return s.run[n].Kill9() }
	answers500 := func(_ *routeShow, n *lab.Node) error { return n.API().Set(lab.API500, "") }
	ended := func(s *routeShow, n *lab.Node) error { return try.Err(s.run[n].Terminate(10 * time.Second)) }
	drained := func(_ *routeShow, n *lab.Node) error { return Keepvip{}.order(n, "drain") }
	for _, d := range []routeDaemon{
		{"BIRD", RunBIRD, nil, 20 * time.Millisecond},
		{"FRR", RunFRRBGP, []string{"--announce-table", "254"}, 80 * time.Millisecond},
	} {
		add(d, "apiserver killed", true, 1, withdrawals(d.limit, killsAPI))
		add(d, "kill -9 of keepvip", false, 1, withdrawals(d.limit, killed))
		add(d, "apiserver answers 500", false, 1, withdrawals(d.limit+checkTakes, answers500))
		add(d, "SIGTERM", false, 2, lostRequests(ended, resetOnes))
		add(d.spreading(), "SIGTERM, spread direct", false, 2, lostRequests(ended, noneLost))
		add(d, "drain", d.name == "BIRD", 2, lostRequests(drained, resetOnes))
		add(d.spreading(), "drain, spread direct", false, 2, lostRequests(drained, noneLost))
		add(d, "route deleted", false, 1, comesBack("ip route del "+routedAddress.String()+" dev keepvip0 table TABLE"))
		add(d, "device deleted", false, 1, comesBack("ip link del keepvip0"))
	}
	bird := routeDaemon{"BIRD", RunBIRDWithBFD, nil, 200 * time.Millisecond}
	add(bird, "node death, BFD 3 x 50 ms", false, 1, withdrawals(bird.limit, (*routeShow).powerOff))
	return out
}

// openRoutes makes a router and nodes, each with the daemon and without keepvip.
func openRoutes(host *lab.Host, r routing) (s *routeShow, err error) {
	defer try.Catch(&err)
	l := try.Get(host.Open(lab.Config{Nodes: r.nodes, OffLink: true}))
	stop, err := RunRouter(l)
	if err != nil {
		l.Close()
		return nil, err
	}
	s = &routeShow{lab: l, routeDaemon: r.routeDaemon, run: map[*lab.Node]*lab.Process{}, stop: stop}
	// Connections are spread by their ports, too.
	err = l.Router.Sysctl("net/ipv4/fib_multipath_hash_policy", "1")
	for _, n := range l.Nodes {
		if err == nil {
			_, err = s.daemon(n, l.Router)
		}
	}
	if err != nil {
		s.Close()
	}
	return s, err
}

// ready has a node serve, after whatever has happened to it, and waits until the router knows.
func (s *routeShow) ready(n *lab.Node) (err error) {
	defer try.Catch(&err)
	if n.API() != nil && n.API().Alive() {
		try.Do(n.API().Set(lab.APIHealthy, ""))
	} else if _, err := n.StartAPIServer(); err != nil {
		return err
	}
	if p := s.run[n]; p == nil || !p.Alive() {
		p := try.Get(Keepvip{}.Run(n, append([]string{"--vip", routedAddress.String(), "--election", "local", "--interface", n.NICs[0].Name}, s.args...)...))
		s.run[n] = p
	}
	return within(20*time.Second, "a route at the router by "+n.Name, func() bool { return s.goesTo(n) })
}

// goesTo tells whether the router sends to a node.
func (s *routeShow) goesTo(n *lab.Node) bool {
	hops, err := NextHops(s.lab, routedAddress)
	return err == nil && slices.Contains(hops, n.Address.String())
}

// withdrawals measures how soon after a fault of the only node the router has no route. The limit is for the median.
func withdrawals(limit time.Duration, fault func(*routeShow, *lab.Node) error) func(*routeShow, int) Findings {
	return func(s *routeShow, times int) Findings {
		n := s.lab.Nodes[0]
		var all []time.Duration
		for range times {
			try.Do(s.ready(n))
			all = append(all, try.Get(s.withdrawn(func() error { return fault(s, n) })))
			if p := s.run[n]; p.Alive() { // a check that has failed is slow to believe in health again
				try.Get(p.Terminate(10 * time.Second))
			}
			const lives = "ip link show $0 up && ss -Htn state established dport = 179 or sport = 179 | grep -q ."
			if _, err := n.Run("sh", "-c", lives, n.NICs[0].Name); err != nil {
				try.Do(s.again(n))
			}
		}
		slices.Sort(all)
		return Findings{took("route gone at the router, median", all[len(all)/2], limit), told("worst", all[len(all)-1])}
	}
}

// powerOff lets a node die as soon as the router looks whether it lives.
func (s *routeShow) powerOff(n *lab.Node) (err error) {
	defer try.Catch(&err)
	try.Do(within(20*time.Second, "a BFD session", func() bool {
		out, err := s.lab.Router.Run("birdc", "-s", s.lab.Dir+"/router.ctl", "show", "bfd", "sessions")
		return err == nil && strings.Contains(out, " Up ")
	}))
	s.began = time.Now()
	return try.Err(n.PowerOff())
}

// again is a node that was powered off, and begins anew.
func (s *routeShow) again(n *lab.Node) error {
	return sequence(n.PowerOn, func() error { _, err := s.daemon(n, s.lab.Router); return err })
}

// noneLost is the promise where nodes send each packet to the one that has its connection.
func noneLost(sum lab.FollowedSum) Findings {
	lost := none("requests lost", len(sum.Refused)+len(sum.Reset))
	lost.What += failures(sum.Made, sum.Refused, sum.Reset)
	return Findings{lost}
}

// resetOnes is the promise where they do not: a request that is under way when the router sends its packets elsewhere is reset there, and none
// waits for an answer that does not come.
func resetOnes(sum lab.FollowedSum) Findings {
	silent, reset := none("requests without an answer", len(sum.Refused)), none("requests reset", len(sum.Reset))
	silent.What += failures(sum.Made, sum.Refused)
	reset.What += failures(sum.Made, sum.Reset)
	reset.Limit = -1
	return Findings{silent, reset}
}

func failures(made int, why ...[]string) string {
	return strings.Join(append([]string{fmt.Sprintf(" of %d", made)}, slices.Concat(why...)...), "; ")
}

// lostRequests has one of two nodes leave while a client behind the router makes 100 requests a second, and come back.
func lostRequests(leave func(*routeShow, *lab.Node) error, promise func(lab.FollowedSum) Findings) func(*routeShow, int) Findings {
	return func(s *routeShow, times int) Findings {
		for _, n := range s.lab.Nodes {
			try.Do(s.ready(n))
		}
		at := netip.AddrPortFrom(routedAddress, 6443)
		requests := s.lab.Request(s.lab.OffLink, 10*time.Millisecond, func() netip.AddrPort { return at })
		for i := range times {
			n := s.lab.Nodes[i%2]
			try.Do(leave(s, n))
			try.Do(within(20*time.Second, "no route by "+n.Name, func() bool { return !s.goesTo(n) }))
			before := requests.Sum().Made // until what was under way is over
			try.Do(within(20*time.Second, "requests go on", func() bool { return requests.Sum().Made >= before+100 }))
			if p := s.run[n]; p.Alive() {
				try.Do(Keepvip{}.order(n, "resume"))
			}
			try.Do(s.ready(n))
		}
		return promise(requests.Stop())
	}
}

// comesBack takes a route away from the node's kernel, and measures how soon it is back there.
func comesBack(take string) func(*routeShow, int) Findings {
	return func(s *routeShow, times int) Findings {
		n := s.lab.Nodes[0]
		table := "198"
		if len(s.args) > 0 {
			table = s.args[1]
		}
		var all []time.Duration
		for range times {
			try.Do(s.ready(n))
			began := time.Now()
			try.Get(n.Run("sh", "-c", strings.Replace(take, "TABLE", table, 1)))
			try.Do(within(20*time.Second, "the route is back", func() bool {
				out, err := n.Run("ip", "route", "show", "table", table, routedAddress.String())
				return err == nil && strings.Contains(out, "keepvip0")
			}))
			all = append(all, time.Since(began))
		}
		slices.Sort(all)
		return Findings{told("median", all[len(all)/2]), took("route back in the kernel, worst", all[len(all)-1], 1500*time.Millisecond)}
	}
}

// withdrawn does something, and tells how long after its beginning the router's kernel had the route no more.
func (s *routeShow) withdrawn(do func() error) (_ time.Duration, err error) {
	defer try.Catch(&err)
	l := s.lab
	log := l.Dir + "/router-routes"
	try.Get(l.Router.Run("sh", "-c", fmt.Sprintf("rm -f %[1]s; setsid timeout 60 ip -ts monitor route >%[1]s 2>&1 & echo $! >%[1]s.pid", log)))
	defer func() { _, _ = l.Router.Run("pkill", "-F", log+".pid") }()
	// It watches as soon as it has seen something.
	try.Do(within(10*time.Second, "a look at the routes", func() bool {
		_, _ = l.Router.Run("sh", "-c", "ip route add 10.98.0.1/32 dev eth0; ip route del 10.98.0.1/32 dev eth0")
		text, err := os.ReadFile(log)
		return err == nil && len(text) > 0
	}))
	s.began = time.Now()
	try.Do(do())
	var at time.Time
	err = within(20*time.Second, "no route at the router", func() bool {
		text, err := os.ReadFile(log)
		if err != nil {
			return false
		}
		for line := range strings.Lines(string(text)) {
			stamp, what, ok := strings.Cut(strings.TrimPrefix(line, "["), "] ")
			if ok && strings.HasPrefix(what, "Deleted "+routedAddress.String()+" ") {
				at, err = time.ParseInLocation("2006-01-02T15:04:05.000000", stamp, time.Local)
				return err == nil
			}
		}
		return false
	})
	return at.Sub(s.began), err
}
