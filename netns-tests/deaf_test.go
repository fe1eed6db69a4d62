//go:build netns

package netnstests

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// Nothing arrives at a node, and what it sends does. It neither takes nor keeps the address for clients, and the others name it.
func TestDeafNodeNeitherTakesNorKeepsTheAddress(t *testing.T) {
	type row struct {
		vip    netip.Addr
		holder bool // it is the holder that becomes deaf, else the backup of the highest address
	}
	each(t, map[string]row{
		"backup with the highest address": {lab.VIP4, false},
		"holder, by IPv6":                 {lab.VIP6, true},
	}, func(t *testing.T, c row) {
		g := open(t, trial.Config{Addresses: []netip.Addr{c.vip}})
		settled(t, g)
		settleFor(15 * time.Second) // the nodes get to know each other by ARP or neighbour discovery
		holder := settled(t, g)
		deaf := holder
		if !c.holder {
			deaf = slices.MaxFunc(g.Others(holder), func(a, b *lab.Node) int { return a.ID - b.ID })
		}
		m := must(g.Lab.Measure(lab.MeasureConfig{NoDirect: true, Targets: g.Addresses}))(t)
		said := g.Daemon(holder).Log()
		require.NoError(t, deaf.LoseAll(lab.In, ""))
		eventually(t, 10*time.Second, "it finds out", func() bool { return namesDeaf(deaf, true) })
		reached(t, g)
		for _, n := range g.Others(deaf) {
			eventually(t, 5*time.Second, "it is named on the others", func() bool { return namesDeaf(n, false) })
		}

		require.NoError(t, deaf.LoseNothing())
		eventually(t, 15*time.Second, "one node holds the address, and all are fit", func() bool {
			active := 0
			for _, n := range g.Lab.Nodes {
				s, err := trial.Keepvip{}.Status(n)
				if err != nil || !s.VIPs[0].Eligible {
					return false
				}
				if s.VIPs[0].State == "active" {
					active++
				}
			}
			return active == 1
		})
		reached(t, g)
		if r := m.Stop(); deaf != holder && r.BySilence(0) == 0 {
			assert.NotContains(t, strings.TrimPrefix(g.Daemon(holder).Log(), said), "from=active", "a deaf backup moves nothing")
		}
	})
}

// namesDeaf tells whether the status of a node calls itself (self), or another one, deaf.
func namesDeaf(on *lab.Node, self bool) bool {
	return shows(on, func(v trial.VIPStatus) bool {
		deafOther := func(m trial.Member) bool { return !m.Self && strings.Contains(m.Unfit, "DEAF") }
		return self && strings.Contains(v.Unfit, "DEAF") || !self && slices.ContainsFunc(v.Members, deafOther)
	})()
}

// A holder of several entries answers at each of their addresses, and a host answers at more than one by IPv6. With its death all of them are silent, and
// the other node of two hears no less than before: it takes over on a link where nobody else speaks.
func TestSecondOfTwoNodesTakesOverWhereNobodyElseSpeaks(t *testing.T) {
	each(t, map[string][]string{
		"IPv4": {"10.77.0.100", "10.77.0.101", "10.77.0.102"},
		"IPv6": {"fd77::100", "fd77::101", "fd77::102"},
	}, func(t *testing.T, addresses []string) {
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
		must(g.Lab.Client.Run("ip", "link", "set", "eth0", "down"))(t)
		holds := func(n *lab.Node) bool {
			return !slices.ContainsFunc(addresses, func(a string) bool { return !n.Holds(netip.MustParseAddr(a)) })
		}
		holder, other := g.Lab.Nodes[0], g.Lab.Nodes[1]
		for i, n := range g.Lab.Nodes { // one after the other, as each of two that start together may take some
			var routers []trial.Router
			for k, a := range addresses {
				s := g.Settings[i]
				s.VRID, s.Addresses = 51+k, []netip.Addr{netip.MustParseAddr(a)}
				routers = append(routers, trial.Router{Name: "entry" + strconv.Itoa(k), Settings: s})
			}
			g.Daemons[i] = must(trial.RunKeepvip(n, routers...))(t)
			eventually(t, 20*time.Second, "the first holds all", func() bool { return holds(holder) })
		}
		settleFor(15 * time.Second) // the nodes get to know each other by ARP or neighbour discovery
		must(holder.PowerOff())(t)
		eventually(t, 20*time.Second, "the other holds all", func() bool { return holds(other) })
		assert.NotContains(t, g.Daemon(other).Log(), "DEAF")
	})
}
