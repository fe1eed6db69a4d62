//go:build netns

package netnstests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func containsAddress(out, prefix string) bool { return strings.Contains(out, " "+prefix+" ") }

// fromFile runs all nodes from one file that names no interface.
func fromFile(t *testing.T) *trial.Group {
	t.Helper()
	g := prepare(t, trial.Config{})
	for _, n := range g.Lab.Nodes {
		runFile(t, g, n, startConfig)
	}
	settled(t, g)
	return g
}

func TestRenamedInterfaceIsFollowed(t *testing.T) {
	t.Parallel()
	g := fromFile(t)
	holder := settled(t, g)
	require.NoError(t, holder.RenameNIC(0, "uplink0"))
	settleFor(2 * time.Second)
	settled(t, g)
	must(g.Daemon(holder).Terminate(5 * time.Second))(t)
	assert.False(t, holder.Holds(lab.VIP4), "the renamed interface keeps the address")
	settled(t, g)
}

func TestInterfaceIsFoundByItsAltname(t *testing.T) {
	t.Parallel()
	const altname = "uplink-of-this-rack-of-nodes"
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	must(n.Run("ip", "link", "property", "add", "dev", n.NICs[0].Name, "altname", altname))(t)
	runFile(t, g, n, startConfig+"  interface: "+altname+"\n")
	settled(t, g)
	assert.True(t, n.Holds(lab.VIP4))
}

func TestDeletedAndRecreatedInterfaceIsFollowed(t *testing.T) {
	t.Parallel()
	g := fromFile(t)
	holder := settled(t, g)
	require.NoError(t, holder.DeleteNIC(0))
	eventually(t, 5*time.Second, "another node takes over", func() bool {
		h := g.Holders()
		return len(h) == 1 && h[0] != holder
	})
	require.NoError(t, holder.CreateNIC(0))
	next := settled(t, g)
	// The node must be of use again: it takes over when the others are gone.
	for _, n := range g.Others(holder) {
		must(g.Daemon(n).Terminate(5 * time.Second))(t)
	}
	assert.NotEqual(t, holder, next, "a node that comes back takes nothing away from an equal")
	eventually(t, 5*time.Second, "the recreated interface holds the address", func() bool { return holder.Holds(lab.VIP4) })
	assert.True(t, g.Daemon(holder).Alive())
}
