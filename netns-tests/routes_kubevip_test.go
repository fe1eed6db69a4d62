//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestRoutingTableOfKubeVIPIsTakenOver: a manifest of kube-vip with a routing table is converted, and the configurations of BIRD and FRR that are published for
// it go on, that of FRR with the main table.
func TestRoutingTableOfKubeVIPIsTakenOver(t *testing.T) {
	t.Parallel() // seconds of waiting for routing daemons
	f := openFabricOf(t, func(n *lab.Node, router *lab.Peer) (*lab.Process, error) {
		if n.ID == 3 {
			return trial.RunFRROfKubeVIP(n, router)
		}
		return trial.RunBIRDOfKubeVIP(n, router)
	})
	run := func(n *lab.Node) {
		args := convertedPod(t, n, "v1.0-table.yaml")
		if n.ID == 3 {
			args = append(args, "--announce-table=254")
		}
		f.running[n] = must(f.product.Run(n, args...))(t)
	}
	// What the two daemons tell of a route differs, so the router would prefer those of BIRD.
	for _, nodes := range [][]*lab.Node{f.Nodes[2:], f.Nodes[:2]} {
		first, others := nodes[0], nodes[1:]
		for _, n := range nodes {
			must(n.StartAPIServer())(t)
			run(n)
		}
		f.goTo("all serve", nodes...)
		f.served("all serve")
		require.NoError(t, first.API().Set(lab.API500, ""))
		f.goTo("an unhealthy apiserver", others...)
		require.NoError(t, first.API().Set(lab.APIHealthy, ""))
		f.goTo("it is well again", nodes...)
		require.NoError(t, f.running[first].Kill9())
		f.goTo("keepvip is killed", others...)
		run(first)
		f.goTo("it is started again", nodes...)
		f.served("it is started again")
		for _, n := range nodes {
			must(f.running[n].Terminate(20 * time.Second))(t)
		}
		f.goTo("all have ended")
	}
}
