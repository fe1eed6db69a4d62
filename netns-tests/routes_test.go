//go:build netns

package netnstests

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// Addresses that are in no subnet of the lab.
var routedVIPs = []netip.Addr{netip.MustParseAddr("10.99.0.100"), netip.MustParseAddr("fd99::100")}

// routingDaemon runs a routing daemon on a node.
type routingDaemon func(*lab.Node, *lab.Peer) (*lab.Process, error)

// fabric is a lab in which routers choose: nodes 1 and 2 run BIRD and node 3 FRR, or all of them one daemon, and the client is behind the router.
type fabric struct {
	*lab.Lab
	t       *testing.T
	all     routingDaemon // nil: BIRD and FRR
	product trial.Keepvip
	running map[*lab.Node]*lab.Process
	daemons map[*lab.Node]*lab.Process
}

func openFabric(t *testing.T) *fabric { return openFabricOf(t, nil) }

func openFabricOf(t *testing.T, all routingDaemon) *fabric {
	l := must(host.Open(lab.Config{OffLink: true}))(t)
	t.Cleanup(l.Close)
	f := &fabric{Lab: l, t: t, all: all, running: map[*lab.Node]*lab.Process{}, daemons: map[*lab.Node]*lab.Process{}}
	t.Cleanup(must(trial.RunRouter(l))(t))
	for _, n := range l.Nodes {
		for _, r := range []netip.Addr{l.Router.Address, l.Router.Addr6} {
			must(n.Run("ip", "route", "add", "default", "via", r.String()))(t)
		}
		f.runDaemon(n)
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%s: %s", n.Name, f.daemons[n].Log())
			}
		})
	}
	return f
}

// runDaemon runs the routing daemon of a node, also anew.
func (f *fabric) runDaemon(n *lab.Node) {
	f.t.Helper()
	run := f.all
	switch {
	case run != nil:
	case n.ID == 3:
		run = trial.RunFRRBGP
	default:
		run = trial.RunBIRD
	}
	f.daemons[n] = must(run(n, f.Router))(f.t)
}

// start runs keepvip on a node.
func (f *fabric) start(n *lab.Node, more ...string) {
	f.t.Helper()
	args := append([]string{"--election", "local"}, more...) // the interface is that of the default route
	for _, a := range routedVIPs {
		args = append(args, "--vip", a.String())
	}
	if n.ID == 3 { // FRR
		args = append(args, "--announce-table", "254")
	}
	f.running[n] = must(f.product.Run(n, args...))(f.t)
}

func (f *fabric) status(n *lab.Node) trial.VIPStatus {
	s, err := f.product.Status(n)
	if err != nil || len(s.VIPs) == 0 {
		return trial.VIPStatus{}
	}
	return s.VIPs[0]
}

// goTo waits until the router sends what is for the addresses to these nodes.
func (f *fabric) goTo(what string, nodes ...*lab.Node) {
	f.t.Helper()
	for _, a := range routedVIPs {
		var want, got []string
		for _, n := range nodes {
			want = append(want, trial.OwnAddress(n, a).String())
		}
		slices.Sort(want)
		eventually(f.t, 15*time.Second, what, func() bool {
			got, _ = trial.NextHops(f.Lab, a)
			return slices.Equal(want, got)
		})
		require.Equal(f.t, want, got, "%s: %s", what, a)
	}
}

// served makes connections from behind the router.
func (f *fabric) served(what string) {
	f.t.Helper()
	for _, a := range routedVIPs {
		for range 12 {
			require.True(f.t, f.Answers(f.OffLink.Namespace, netip.AddrPortFrom(a, 6443)), "%s: %s", what, a)
		}
	}
}

// TestRoutedAddressIsAnnouncedByEachHealthyNode is the life of an address that routers reach: nothing before the service, one next hop for each
// node that has joined, one less for each that is lost in whatever way.
func TestRoutedAddressIsAnnouncedByEachHealthyNode(t *testing.T) {
	t.Parallel() // seconds of waiting for routing daemons
	f := openFabric(t)
	n1, n2, n3 := f.Nodes[0], f.Nodes[1], f.Nodes[2]
	before := map[*lab.Node]lab.State{}
	for _, n := range f.Nodes {
		before[n] = must(n.State())(t)
		f.start(n)
	}
	for _, n := range f.Nodes {
		eventually(t, 10*time.Second, "a check that fails", func() bool { return f.status(n).Unfit != "" })
		assert.NotEqual(t, "active", f.status(n).State)
	}
	f.goTo("nothing is announced before the service is there")

	apis := map[*lab.Node]*lab.APIServer{}
	var with []*lab.Node
	for _, n := range f.Nodes {
		apis[n], with = must(n.StartAPIServer())(t), append(with, n)
		f.goTo("a next hop for each node that serves", with...)
		f.served("with " + n.Name)
	}
	for _, n := range f.Nodes {
		assert.False(t, n.Holds(routedVIPs[0]), "no socket of %s has the address", n.Name)
		_, err := n.Run("curl", "-sk", "--max-time", "3", "https://10.99.0.100:6443/readyz")
		assert.NoError(t, err, "a program of %s itself", n.Name)
	}

	require.NoError(t, apis[n2].Set(lab.API500, ""))
	f.goTo("an unhealthy apiserver", n1, n3)
	f.served("without " + n2.Name)
	require.NoError(t, apis[n2].Set(lab.APIHealthy, ""))
	f.goTo("it is well again", n1, n2, n3)

	for _, n := range []*lab.Node{n1, n3} {
		require.NoError(t, f.running[n].Kill9())
		others := slices.DeleteFunc(slices.Clone(f.Nodes), func(o *lab.Node) bool { return o == n })
		f.goTo("keepvip of "+n.Name+" is killed", others...)
		f.served("without " + n.Name)
		f.start(n)
		f.goTo("keepvip of "+n.Name+" is started again", n1, n2, n3)
	}

	for _, n := range []*lab.Node{n2, n3} {
		leave := f.staysConnected(n)
		assert.Zero(t, command(t, n, "drain", "--wait", "--timeout", "30s"), "%s: its own connections go on", n.Name)
		f.goTo("a drained node", slices.DeleteFunc(slices.Clone(f.Nodes), func(o *lab.Node) bool { return o == n })...)
		leave()
		assert.Zero(t, command(t, n, "resume"))
		f.goTo("it takes part again", n1, n2, n3)
	}

	for _, n := range f.Nodes {
		must(f.running[n].Terminate(10 * time.Second))(t)
	}
	f.goTo("all have ended")
	for _, n := range f.Nodes {
		after := must(n.State())(t)
		assert.Equal(t, []string{before[n].Addresses, before[n].Rules, before[n].Ruleset}, []string{after.Addresses, after.Rules, after.Ruleset}, "%s", n.Name)
		assert.NotContains(t, must(n.Run("ip", "link"))(t), "keepvip0")
	}
}

// staysConnected has a program of a node connect to each address, as the kubelet does: from the address that suits, and from one on the loopback interface,
// where hosts that speak BGP have theirs.
func (f *fabric) staysConnected(n *lab.Node) (leave func()) {
	own := []string{"10.98.0.1", "fd98::1"}
	ip := func(do string, more ...string) {
		for _, a := range own {
			must(n.Run("ip", append([]string{"addr", do, a, "dev", "lo"}, more...)...))(f.t)
		}
	}
	ip("add", "nodad") // without it the kernel lets nobody connect from the IPv6 address for a moment
	var open []net.Conn
	for i, a := range routedVIPs {
		for _, from := range []net.Addr{nil, &net.TCPAddr{IP: net.ParseIP(own[i])}} {
			require.NoError(f.t, n.Do(func() error {
				c, err := (&net.Dialer{LocalAddr: from, Timeout: 10 * time.Second}).Dial("tcp", netip.AddrPortFrom(a, 6443).String())
				open = append(open, c)
				return err
			}))
		}
	}
	return func() {
		for _, c := range open {
			assert.NoError(f.t, c.Close())
		}
		ip("del")
	}
}

// TestRouteStays, whatever happens to it and to the daemons that tell of it.
func TestRouteStays(t *testing.T) {
	t.Parallel() // seconds of waiting for routing daemons
	f := openFabric(t)
	n1, n3 := f.Nodes[0], f.Nodes[2]
	for _, n := range []*lab.Node{n1, n3} {
		must(n.StartAPIServer())(t)
		f.start(n)
	}
	f.goTo("both serve", n1, n3)
	f.isNoNews(n1, n3)
	f.comesBack(n1, n3)
	f.isFoundAnew(n1, n3)
}

// comesBack has somebody take the route away.
func (f *fabric) comesBack(n1, n3 *lab.Node) {
	t := f.t
	for _, fault := range []struct {
		name string
		node *lab.Node
		args []string
	}{
		{"the route is deleted", n1, []string{"ip", "route", "del", "10.99.0.100", "table", "198"}},
		{"the table is flushed", n1, []string{"ip", "-6", "route", "flush", "table", "198"}},
		{"the table of IPv4 is flushed", n1, []string{"ip", "route", "flush", "table", "198"}},
		{"the device is deleted", n1, []string{"ip", "link", "del", "keepvip0"}},
		{"the device of a node with FRR is deleted", n3, []string{"ip", "link", "del", "keepvip0"}},
		{"the route of a node with FRR is deleted", n3, []string{"ip", "-6", "route", "del", "fd99::100"}},
		{"the ruleset is flushed", n1, []string{"nft", "flush", "ruleset"}},
	} {
		before := f.status(fault.node).Counters.Restored
		_, err := fault.node.Run(fault.args[0], fault.args[1:]...)
		require.NoError(t, err, fault.name)
		eventually(t, 10*time.Second, fault.name, func() bool {
			four, err4 := fault.node.Run("ip", "route", "show", "table", "all", "10.99.0.100")
			six, err6 := fault.node.Run("ip", "-6", "route", "show", "table", "all", "fd99::100")
			return err4 == nil && err6 == nil && strings.Contains(four, "dev keepvip0") && strings.Contains(six, "dev keepvip0")
		})
		f.goTo(fault.name, n1, n3)
		f.served(fault.name)
		if fault.args[0] == "ip" {
			assert.Greater(t, f.status(fault.node).Counters.Restored, before, "%s: counted", fault.name)
		}
	}
	for _, n := range []*lab.Node{n1, n3} {
		assert.Contains(t, f.running[n].Log(), "KV350", "said")
	}
}

// isFoundAnew by a routing daemon that is started again, without anything that is done to keepvip.
func (f *fabric) isFoundAnew(nodes ...*lab.Node) {
	t := f.t
	for _, n := range nodes {
		before := f.status(n).Counters.Restored
		must(f.daemons[n].Terminate(10 * time.Second))(t)
		eventually(t, 15*time.Second, "the router has lost its session with "+n.Name, func() bool { return !trial.Established(f.Lab, n) })
		f.runDaemon(n)
		eventually(t, 30*time.Second, "it has one again", func() bool { return trial.Established(f.Lab, n) })
		f.goTo("it is started again", nodes...)
		f.served("after a restart of the daemon of " + n.Name)
		assert.Equal(t, before, f.status(n).Counters.Restored, "the route of %s was there all the time", n.Name)
	}
}

// TestHolderAnnouncesARouteBesideItsLink with an election: the router goes where the address is, also after a move.
func TestHolderAnnouncesARouteBesideItsLink(t *testing.T) {
	t.Parallel() // seconds of waiting for routing daemons
	f := openFabric(t)
	for _, n := range f.Nodes[:2] {
		must(f.product.Run(n, "--vip", lab.VIP4.String(), "--announce", "route", "--check", "none"))(t)
	}
	holder := func() *lab.Node {
		for _, n := range f.Nodes[:2] {
			if f.status(n).State == "active" {
				return n
			}
		}
		return nil
	}
	follows := func(what string, at func() *lab.Node) {
		eventually(t, 15*time.Second, what, func() bool {
			n := at()
			hops, err := trial.NextHops(f.Lab, lab.VIP4)
			return n != nil && err == nil && slices.Equal([]string{n.Address.String()}, hops)
		})
	}
	follows("the router sends to the holder", holder)
	first := holder()
	require.True(t, first.Holds(lab.VIP4), "the address is bound on the link, too")
	require.Zero(t, command(t, first, "handover"))
	follows("the router follows the address", func() *lab.Node {
		if n := holder(); n != first {
			return n
		}
		return nil
	})
}

// isNoNews: each node's kernel tells of the route again each second, and neither daemon tells its router.
func (f *fabric) isNoNews(nodes ...*lab.Node) {
	t := f.t
	changes := f.Dir + "/router-changes"
	must(f.Router.Run("sh", "-c", "setsid timeout 60 ip monitor route >"+changes+" 2>&1 &"))(t)
	before := trial.UpdatesFrom(f.Lab, nodes...)
	for _, n := range nodes {
		must(n.Run("sh", "-c", "setsid timeout 60 ip monitor route >"+n.Path("changes")+" 2>&1 &"))(t)
	}
	for _, n := range nodes {
		for _, a := range routedVIPs {
			eventually(t, 20*time.Second, "the kernel of "+n.Name+" tells of "+a.String()+" again and again", func() bool {
				text, err := os.ReadFile(n.Path("changes"))
				return err == nil && strings.Count(string(text), a.String()+" dev keepvip0") >= 4
			})
		}
		for line := range strings.Lines(string(must(os.ReadFile(n.Path("changes")))(t))) {
			assert.False(t, strings.HasPrefix(line, "Deleted") && strings.Contains(line, "keepvip0"), "%s: %s", n.Name, line)
		}
	}
	assert.Equal(t, before, trial.UpdatesFrom(f.Lab, nodes...), "UPDATE messages")
	text := must(os.ReadFile(changes))(t)
	assert.NotContains(t, string(text), "99::100")
	assert.NotContains(t, string(text), "10.99.0.100")
}
