//go:build netns

package netnstests

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// explained is what `keepvip explain` says on a node: the texts of the facts, each behind its code.
func explained(t *testing.T, n *lab.Node) string {
	t.Helper()
	out, status := mustTwo(trial.Keepvip{}.Command(n, "explain", "--socket", trial.Socket(n), "-o", "json"))(t)
	require.Zero(t, status)
	var doc struct {
		Kind string
		VIPs []struct{ Facts []struct{ Code, Text string } }
	}
	require.NoError(t, json.Unmarshal([]byte(out.Stdout()), &doc), out.Stdout())
	require.Equal(t, "Explanation", doc.Kind)
	require.Len(t, doc.VIPs, 1)
	var b strings.Builder
	for _, f := range doc.VIPs[0].Facts {
		b.WriteString(f.Code + " " + f.Text + "\n")
	}
	return b.String()
}

// One node is held, another dies: each that is left says who holds the address, why it does not itself, and how many could take over.
func TestExplainOnEachNode(t *testing.T) {
	t.Parallel() // seconds of waiting for silence
	g := open(t, trial.Config{Lab: lab.Config{Nodes: 3}})
	holder := settled(t, g)
	others := g.Others(holder)
	held, dies := others[0], others[1]
	says := func(n *lab.Node, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !eventually(t, 10*time.Second, text, func() bool { return strings.Contains(explained(t, n), text) }) {
				t.Log(explained(t, n))
			}
		}
	}
	says(holder, "2 of 3 nodes could take over", "holds "+lab.VIP4.String())
	says(dies, "KV211 this node is standby", "2 of 3 nodes could take over", "("+holder.Address.String()+") holds "+lab.VIP4.String())

	require.Zero(t, command(t, held, "hold", "--reason", "new kernel"))
	says(held, "KV220 an operator holds this node out: new kernel")
	says(holder, "is not fit: held by an operator: new kernel", "1 of 3 nodes could take over")

	require.NoError(t, g.Daemon(dies).Kill9())
	says(holder, "KV306", "KV307 0 of 3 nodes could take over")
	out, status := mustTwo(trial.Keepvip{}.Command(dies, "explain", "--socket", trial.Socket(dies)))(t)
	assert.NotZero(t, status, "no keepvip runs there")
	assert.Empty(t, out.Stdout())
	assert.Contains(t, out.Stderr(), "keepvip")
}
