//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// spreads is a fabric of nodes with BIRD alone, which see by BFD that one dies, and connections that are spread over those nodes.
type spreads struct {
	*fabric
	held []*lab.Held
}

const perFamily = 300

func openSpreads(t *testing.T) *spreads {
	s := &spreads{fabric: openFabricOf(t, trial.RunBIRDWithBFD)}
	for _, key := range []string{"net/ipv4/fib_multipath_hash_policy", "net/ipv6/fib_multipath_hash_policy"} {
		require.NoError(t, s.Router.Sysctl(key, "1")) // by ports, too
	}
	for _, n := range s.Nodes {
		must(n.StartGreeter(lab.GreeterConfig{Port: trial.SpreadTarget}))(t)
		s.run(n)
	}
	s.goTo("all serve", s.Nodes...)
	return s
}

// run runs keepvip on a node, also anew.
func (s *spreads) run(n *lab.Node) {
	s.t.Helper()
	path := must(n.WriteFile("keepvip.yaml", fmt.Sprintf(`apiVersion: keepvip/v1
kind: Config
vips:
- name: apiserver
  addresses: [%q, %q]
  election: local
  interface: %s
  checks: [{name: serving, kind: file, path: %q, absent: true, interval: 100ms, timeout: 50ms}]
  spread: {via: direct, ports: [{port: %d, target: %d}]}
`, routedVIPs[0], routedVIPs[1], n.NICs[0].Name, trial.Unhealthy(n), trial.SpreadPort, trial.SpreadTarget), 0o644))(s.t)
	s.running[n] = must(s.product.Run(n, "--config", path))(s.t)
}

// hold makes connections from behind the router to each of the addresses, and waits until each node has some.
func (s *spreads) hold() {
	s.t.Helper()
	for _, a := range routedVIPs {
		at := netip.AddrPortFrom(a, trial.SpreadPort)
		eventually(s.t, 20*time.Second, "each node serves", func() bool {
			got, err := s.Sample(s.OffLink.Namespace, at, 60)
			return err == nil && len(got.ByNode) == len(s.Nodes) && len(got.Failures) == 0
		})
		s.held = append(s.held, must(s.Hold(s.OffLink.Namespace, lab.HeldConfig{Target: at, Count: perFamily, Every: 500 * time.Millisecond}))(s.t))
	}
	for _, n := range s.Nodes {
		require.Positive(s.t, s.alive(n), "%s serves some", n.Name)
	}
}

// alive are the connections of these nodes that are not lost.
func (s *spreads) alive(nodes ...*lab.Node) (alive int) {
	for _, h := range s.held {
		for _, n := range nodes {
			alive += h.Alive(n.Label)
		}
	}
	return alive
}

func (s *spreads) order(n *lab.Node, order string) {
	s.t.Helper()
	require.Zero(s.t, command(s.t, n, order))
}

// TestSpreadConnectionsOutliveRoutes over equal ways to three nodes: whichever of them the routers choose, a connection goes on where it is. The death of a
// node ends its own alone. It runs alone: six hundred connections and three routing daemons wait for each other.
func TestSpreadConnectionsOutliveRoutes(t *testing.T) {
	s := openSpreads(t)
	s.hold()
	n1, n2, n3 := s.Nodes[0], s.Nodes[1], s.Nodes[2]
	for _, step := range []struct {
		what string
		do   func()
		left []*lab.Node
	}{
		{"a node drains", func() { s.order(n1, "drain") }, []*lab.Node{n2, n3}},
		{"it returns", func() { s.order(n1, "resume") }, s.Nodes},
		{"a check fails", func() { require.NoError(t, os.WriteFile(trial.Unhealthy(n2), nil, 0o644)) }, []*lab.Node{n1, n3}},
		{"it is good again", func() { require.NoError(t, os.Remove(trial.Unhealthy(n2))) }, s.Nodes},
		{"keepvip ends", func() {
			must(s.running[n3].Terminate(20 * time.Second))(t)
		}, []*lab.Node{n1, n2}},
		{"it is started again", func() { s.run(n3) }, s.Nodes},
		{"keepvip is killed", func() { require.NoError(t, s.running[n1].Kill9()) }, []*lab.Node{n2, n3}},
		{"it is started again after that", func() { s.run(n1) }, s.Nodes},
	} {
		step.do()
		s.goTo(step.what, step.left...)
		assert.Equal(t, 2*perFamily, s.alive(s.Nodes...), step.what)
	}
	must(n2.PowerOff())(t)
	s.goTo("a node dies", n1, n3)
	eventually(t, 30*time.Second, "its clients are told", func() bool { return s.alive(n2) == 0 })
	for _, h := range s.held {
		r := h.Stop()
		own, others := r.Of(n2), r.Without(n2)
		assert.Equal(t, len(own.Conns), own.Lost())
		assert.Zero(t, others.Lost(), "%s: %s", r.Target, others.Failures())
		assert.Less(t, len(others.Conns), perFamily)
	}
}
