//go:build netns

package netnstests

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// convertedPod is what the container of the converted manifest is started with, without its first word.
func convertedPod(t *testing.T, n *lab.Node, fixture string) []string {
	t.Helper()
	manifest := must(os.ReadFile(filepath.Join(must(trial.Root())(t), "internal/tools/kubevip/testdata", fixture)))(t)
	code, out, stderr := tool(t, n, "convert", must(n.WriteFile("kube-vip.yaml", string(manifest), 0o600))(t))
	require.Zero(t, code, stderr)
	var pod struct {
		Spec struct {
			Containers []struct{ Args []string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(out), &pod))
	require.Equal(t, "run", pod.Spec.Containers[0].Args[0])
	return pod.Spec.Containers[0].Args[1:]
}

// The steps of docs/migrate-kube-vip.md, with a client that asks all the time.
func TestKubeVIPIsReplacedByTheDocumentedProcedure(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{API: true})
	nodes := g.Lab.Nodes
	args := make([][]string, len(nodes))
	running := make([]*trial.KubeVIP, len(nodes))
	for i, n := range nodes {
		args[i] = convertedPod(t, n, "v1.0-pod.yaml")
		running[i] = must(trial.StartKubeVIP(n, lab.VIP4, i == 0))(t)
	}
	eventually(t, 5*time.Second, "kube-vip holds the address", func() bool {
		return nodes[0].Holds(lab.VIP4) && g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, time.Second)
	})
	start := func(i int) {
		g.Daemons[i] = must(trial.Keepvip{}.Run(nodes[i], args[i]...))(t)
	}

	res := measure(t, g, trial.Watched("swap", func(mark func(string)) error {
		for _, i := range []int{1, 2} {
			mark("kube-vip of a follower is stopped")
			if err := running[i].Stop(); err != nil {
				return err
			}
		}
		mark("keepvip starts on the leader's node")
		start(0)
		cleanStatus(t, nodes[0], true)
		settleFor(4 * time.Second) // kube-vip announces meanwhile
		cleanStatus(t, nodes[0], true)
		mark("kube-vip of the leader is stopped")
		if err := running[0].Stop(); err != nil {
			return err
		}
		cleanStatus(t, nodes[0], true)
		for _, i := range []int{1, 2} {
			mark("keepvip starts on another node")
			start(i)
			cleanStatus(t, nodes[i], false)
		}
		return nil
	}))
	others := func(b lab.Bind) bool { return b.Added && b.Node != nodes[0].ID }
	assert.True(t, res.BySilence > 0 || !slices.ContainsFunc(res.Report.Binds, others), "the address stays")
	assert.Zero(t, res.Two, "nobody else ever answered")
	cleanStatus(t, settled(t, g), true)
}

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
