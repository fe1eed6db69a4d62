//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestRoutingTableOfKubeVIPIsTakenOver: a manifest of kube-vip with a routing table is converted, and the configurations of BIRD and FRR that were made for
// it stay as they are.
func TestRoutingTableOfKubeVIPIsTakenOver(t *testing.T) {
	t.Parallel() // seconds of waiting for routing daemons
	f := openFabricOf(t, func(n *lab.Node, router *lab.Peer) (*lab.Process, error) {
		if n.ID == 3 {
			return trial.RunFRROfKubeVIP(n, router)
		}
		return trial.RunBIRDOfKubeVIP(n, router)
	})
	run := func(n *lab.Node) {
		p, err := f.product.Run(n, convertedPod(t, n, "v1.0-table.yaml")...)
		require.NoError(t, err)
		f.running[n] = p
	}
	n1, n2, n3 := f.Nodes[0], f.Nodes[1], f.Nodes[2]
	for _, n := range f.Nodes {
		_, err := n.StartAPIServer()
		require.NoError(t, err)
	}

	four := routedVIPs[0]
	run(n3)
	f.goToFor(four, "by FRR", n3)
	f.servedAt("by FRR", four)
	require.NoError(t, n3.API().Set(lab.API500, ""))
	f.goToFor(four, "by FRR, with an unhealthy apiserver")
	require.NoError(t, n3.API().Set(lab.APIHealthy, ""))
	f.goToFor(four, "by FRR, again", n3)
	require.NoError(t, f.running[n3].Kill9())
	run(n3) // FRR 8.4 has kept the route meanwhile
	eventually(t, 20*time.Second, "it serves", func() bool { return f.status(n3).State == "active" })
	f.servedAt("by FRR, after a kill", four)
	_, err := f.running[n3].Terminate(20 * time.Second)
	require.NoError(t, err)
	f.goToFor(four, "keepvip has ended")

	run(n1)
	run(n2)
	f.goTo("by BIRD", n1, n2)
	f.served("by BIRD")
	require.NoError(t, n1.API().Set(lab.API500, ""))
	f.goTo("by BIRD, with an unhealthy apiserver", n2)
	require.NoError(t, f.running[n2].Kill9())
	f.goTo("by BIRD, and keepvip is killed")
	require.NoError(t, n1.API().Set(lab.APIHealthy, ""))
	f.goTo("by BIRD, again", n1)
}
