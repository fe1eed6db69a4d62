//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// What a reload does not name never moves: entries are added on all nodes and removed again, in both orders of the nodes.
func TestReloadMovesNoEntryThatItDoesNotName(t *testing.T) {
	each(t, map[string]bool{"holder first": true, "a group, holder last": false}, reloadOthers)
}

func reloadOthers(t *testing.T, holderFirst bool) {
	group := map[bool]string{false: ", group: g"}[holderFirst]
	addresses := []netip.Addr{lab.VIP4}
	for range 2 {
		addresses = append(addresses, addresses[len(addresses)-1].Next())
	}
	file := func(entries int) string {
		text := fileHead + "vips:\n"
		for i, a := range addresses[:entries] {
			text += fmt.Sprintf("- {name: e%d, addresses: [%s], check: none, vrrp: {id: %d}%s}\n", i, a, 60+i, group)
		}
		return text
	}
	g := prepare(t, trial.Config{})
	for _, n := range g.Lab.Nodes {
		runFile(t, g, n, file(2))
	}
	holder := settled(t, g)
	holds := func(entries int) bool { // whichever node has the group by now
		return group == "" || slices.ContainsFunc(g.Lab.Nodes, func(n *lab.Node) bool {
			return !slices.ContainsFunc(addresses[:entries], func(a netip.Addr) bool { return !n.Holds(a) })
		})
	}
	eventually(t, 20*time.Second, "all of a group are on one node", func() bool { return holds(2) })
	nodes := slices.Clone(g.Lab.Nodes)
	slices.SortStableFunc(nodes, func(a, b *lab.Node) int {
		switch {
		case a == holder && holderFirst, b == holder && !holderFirst:
			return -1
		case b == holder && holderFirst, a == holder && !holderFirst:
			return 1
		}
		return 0
	})
	m := must(g.Lab.Measure(lab.MeasureConfig{NoDirect: true}))(t)
	begun := strings.Count(g.Logs(), "state changed\" vip=e0")
	for _, entries := range []int{1, 2, 3, 2, 1} {
		for _, n := range nodes {
			must(n.WriteFile("keepvip.yaml", file(entries), 0o644))(t)
			require.Zero(t, command(t, n, "reload"))
			settleFor(700 * time.Millisecond) // two Active_Down_Intervals: what is to go wrong has done so
		}
		eventually(t, 20*time.Second, "entries that are added find their holder", func() bool { return holds(entries) })
	}
	if m.Stop().BySilence(0) == 0 {
		assert.Equal(t, begun, strings.Count(g.Logs(), "state changed\" vip=e0"), "the entry that no reload has named")
	}
	assert.NotContains(t, g.Logs(), "KV301")
}
