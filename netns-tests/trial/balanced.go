package trial

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
	"github.com/keepvip/keepvip/vrrp"
)

// Balanced is a cluster of three nodes, with an apiserver on each, and a host where HAProxy may balance over them. Its clients connect to
// lab.VIP4 or to the balancer.
type Balanced struct {
	*Group
	Balancer *lab.Node
	Members  []*lab.Node
	Proxy    *lab.Process // nil until Balance
	Same     bool         // the balancer has the virtual address
	Raft     bool         // the nodes elect by Raft
}

// The ports of a Balanced.
const (
	balancerPort = 7443
	healthPort   = 9647
)

// OpenBalanced opens one. No keepvip and no balancer runs.
func OpenBalanced(host *lab.Host, interval time.Duration) (_ *Balanced, err error) {
	defer try.Catch(&err)
	g := try.Get(Prepare(host, Config{Interval: interval, Lab: lab.Config{Nodes: 4}}))
	b := &Balanced{Group: g, Balancer: g.Lab.Nodes[3], Members: g.Lab.Nodes[:3]}
	for _, n := range b.Members {
		if _, err := n.StartAPIServer(); err != nil {
			g.Close()
			return nil, err
		}
	}
	return b, nil
}

// External is where the balancer answers.
func (b *Balanced) External() netip.AddrPort {
	if b.Same {
		return b.Internal()
	}
	return netip.AddrPortFrom(b.Balancer.Address, balancerPort)
}

// Internal is where the holder answers.
func (b *Balanced) Internal() netip.AddrPort { return netip.AddrPortFrom(lab.VIP4, 6443) }

// Balance starts HAProxy, and returns when it serves. It asks keepvip how each node is, or with apiservers true the apiservers themselves.
func (b *Balanced) Balance(apiservers bool) (err error) {
	defer try.Catch(&err)
	var conf strings.Builder
	fmt.Fprintf(&conf, "defaults\n  mode tcp\n  timeout connect 1s\n  timeout client 10s\n  timeout server 10s\n  timeout check 1s\n"+
		"frontend clients\n  bind %s\n  default_backend apiservers\nbackend apiservers\n", b.External())
	if apiservers {
		conf.WriteString("  option httpchk GET /readyz\n  default-server check check-ssl verify none inter 200ms fall 2 rise 1\n")
	} else {
		fmt.Fprintf(&conf, "  option httpchk GET /healthz/apiserver\n  default-server check port %d inter 200ms fall 2 rise 1\n", healthPort)
	}
	for _, n := range b.Members {
		fmt.Fprintf(&conf, "  server %s %s:6443\n", n.Label, n.Address)
	}
	b.Proxy = try.Get(b.Balancer.Start("haproxy", "haproxy", "-db", "-f", try.Get(b.Balancer.WriteFile("haproxy.cfg", conf.String(), 0o644))))
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if b.Lab.Answers(b.Lab.Client.Namespace, b.External()) {
			return nil
		}
		if time.Now().After(end) || !b.Proxy.Alive() {
			return fmt.Errorf("trial: HAProxy does not serve: %s", b.Proxy.Log())
		}
	}
}

// Configure writes the configuration of a node; mode "" is for one that knows nothing of balancers, and of a health listener.
func (b *Balanced) Configure(n *lab.Node, mode string, grace time.Duration) (path string, err error) {
	defer try.Catch(&err)
	text := fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nvips:\n- name: apiserver\n  addresses: [%s]\n", lab.VIP4)
	if mode != "" {
		text += fmt.Sprintf("  mode: %s\n  externalAddress: %s\n  externalGrace: %s\nhealth: 0.0.0.0:%d\n", mode, b.External(), grace, healthPort)
	}
	if b.Raft {
		key := try.Get(n.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600))
		text = strings.Replace(text, "- name: apiserver\n", "- name: apiserver\n  election: raft\n", 1)
		text += fmt.Sprintf("key: {file: %s}\nraft: {peers: [%s]}\n", key, addressesOf(len(b.Members)))
	}
	return n.WriteFile("keepvip.yaml", text, 0o644)
}

// Install writes the configuration of each node, and starts keepvip there.
func (b *Balanced) Install(mode string, grace time.Duration) (err error) {
	defer try.Catch(&err)
	for _, n := range b.Members {
		b.Daemons[n.ID-1] = try.Get((Keepvip{}).Run(n, "--config", try.Get(b.Configure(n, mode, grace))))
	}
	return nil
}

// Change has one node after the other go over to a mode, by a reload.
func (b *Balanced) Change(mode string, grace time.Duration) (err error) {
	defer try.Catch(&err)
	for _, n := range b.Members {
		try.Get(b.Configure(n, mode, grace))
		try.Get(b.Say(n, "reload"))
	}
	return nil
}

// Say runs a command of keepvip that asks the running one, and returns what it prints.
func (b *Balanced) Say(n *lab.Node, args ...string) (string, error) { return Keepvip{}.Ask(n, args...) }

// Endpoint is where the running keepvip of a node sends clients.
func (b *Balanced) Endpoint(n *lab.Node) (_ netip.AddrPort, err error) {
	defer try.Catch(&err)
	return netip.ParseAddrPort(try.Get(b.Say(n, "endpoint", "--running")))
}

// Healthz is the status with which a node answers a balancer, and what it says; 0 for no answer.
func (b *Balanced) Healthz(n *lab.Node) (code int, text string) {
	out, err := b.Balancer.Run("curl", "-s", "-m", "5", "-w", "%{http_code}", fmt.Sprintf("http://%s:%d/healthz/apiserver", n.Address, healthPort))
	if err != nil || len(out) < 3 {
		return 0, out
	}
	_, _ = fmt.Sscan(out[len(out)-3:], &code)
	return code, strings.TrimSpace(out[:len(out)-3])
}

// BoundAnywhere names the nodes that have the virtual address.
func (b *Balanced) BoundAnywhere() []string {
	var out []string
	for _, n := range b.Members {
		if n.Holds(lab.VIP4) {
			out = append(out, n.Label)
		}
	}
	return out
}

const (
	// otherCount is how many clusters are on the link beside the one that is tried, each of three nodes with the defaults.
	otherCount = 299
	// otherRate is what they say in a second: the holders advertise ten times, and each node says one HELLO.
	otherRate = 10*otherCount + 3*otherCount
)

// derivedVRID is the VRID of a cluster that names none (docs/configuration.md).
func derivedVRID(a netip.Addr) int {
	h := fnv.New32a()
	h.Write(a.AsSlice()) // a hash never returns an error
	return int(1 + h.Sum32()%255)
}

// otherCluster is a cluster on the same link.
type otherCluster struct {
	address netip.Addr
	vrid    int
	nodes   [3]netip.Addr
}

// otherClusters are so many. The first one has the group's own VRID, as about one of 255 has.
func otherClusters(g *Group) (all []otherCluster) {
	own := g.Settings[0].VRID
	if own == 0 {
		own = derivedVRID(g.Addresses[0])
	}
	a := netip.AddrFrom4([4]byte{10, 77, 200, 0})
	next := func() otherCluster {
		a = a.Next()
		return otherCluster{address: a, vrid: derivedVRID(a)}
	}
	first := next()
	for first.vrid != own {
		first = next()
	}
	all = append(all, first)
	for len(all) < otherCount {
		all = append(all, next())
	}
	for i := range all {
		for n := range all[i].nodes {
			at := 3*i + n
			all[i].nodes[n] = netip.AddrFrom4([4]byte{10, 77, byte(100 + at/250), byte(1 + at%250)})
		}
	}
	return all
}

// Neighbour is the holder of another cluster that has the group's own VRID.
func (g *Group) Neighbour() netip.Addr { return otherClusters(g)[0].nodes[0] }

// clustersBeside is what they say in a second.
func clustersBeside(g *Group) [][]byte {
	var adverts, hellos, frames [][]byte
	for i, c := range otherClusters(g) {
		adverts = append(adverts, forgeFrom(g, lab.Forgery{
			Version: 3, VRID: c.vrid, Priority: 100, Interval: 100 * time.Millisecond, Addresses: []netip.Addr{c.address},
		}, c.nodes[0]))
		for n, from := range c.nodes {
			hello := members.Message{Type: members.Hello, Session: uint64(1 + 3*i + n), Peer: members.PeerState{
				Self:  members.Self{State: vrrp.Backup, Base: 100, Priority: 100, Fit: true},
				Group: c.address, Node: "n", Software: "v0", Revision: members.Revision, Lifetime: 3500 * time.Millisecond,
			}}
			content, err := hello.Append(nil, 1)
			if err != nil {
				panic(err) // it is a message of our own
			}
			hellos = append(hellos, g.Lab.Client.ForgeUDP(netip.AddrPortFrom(from, envelope.SourcePort), membersPort, content))
		}
	}
	for round := range 10 {
		frames = append(frames, adverts...)
		frames = append(frames, hellos[round*len(hellos)/10:(round+1)*len(hellos)/10]...)
	}
	return frames
}

// Crowded is what other clusters cost one.
type Crowded struct {
	Sent, Idle, CPU float64 // frames a second; percent of a processor of the busiest daemon before, and beside them
}

// BesideOthers has the group be one of many clusters on the link for a while.
func BesideOthers(g *Group, length time.Duration) (c Crowded, err error) {
	defer try.Catch(&err)
	c.Idle = g.busiest(min(length, 30*time.Second))
	began := time.Now()
	flood := try.Get(g.Lab.Flood(g.Lab.Client, clustersBeside(g), otherRate))
	c.CPU = g.busiest(length)
	c.Sent = float64(flood.Stop()) / time.Since(began).Seconds()
	return c, nil
}

// manyClusters has a group be one of three hundred clusters on a link for ten minutes: nothing moves.
func manyClusters(host *lab.Host) (_ Findings, err error) {
	defer try.Catch(&err)
	g := try.Get(Open(host, Config{}))
	defer g.Close()
	const length = 10 * time.Minute
	var seen Crowded
	// Probes are seldom: a million of them would be kept, and they say no more.
	res := try.Get(g.run("three hundred clusters on a link", lab.MeasureConfig{NoDirect: true, Interval: 20 * time.Millisecond}, func(m *lab.Measurement, holder *lab.Node) (time.Duration, error) {
		at := m.Mark("the other clusters begin")
		var err error
		seen, err = BesideOthers(g, length)
		return at, err
	}))
	return Findings{
		none("false takeovers", res.Takeovers),
		{What: "packets of the others", Got: seen.Sent, Limit: -1, Unit: "a second"},
		{What: "processor of the busiest daemon, alone", Got: seen.Idle, Limit: -1, Unit: "%"},
		{What: "beside the others", Got: seen.CPU, Limit: 5, Unit: "%"},
	}, nil
}
