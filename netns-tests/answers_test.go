//go:build netns

package netnstests

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// The holder answers no question for the address: ARP is off, or neighbour discovery of it is dropped, on its way in or out.
func TestHolderThatAnswersNoQuestionGivesTheAddressAway(t *testing.T) {
	dropped := func(hook, kind string) func(*lab.Node) error {
		return func(n *lab.Node) error {
			target := lab.VIP6.As16()
			return try.Err(n.RunInput(fmt.Sprintf("table ip6 firewall { chain c { type filter hook %s priority 0; icmpv6 type %s @th,64,128 0x%x drop; }; }", hook, kind, target[:]), "nft", "-f", "-"))
		}
	}
	type row struct {
		vip   netip.Addr
		fault func(*lab.Node) error
	}
	each(t, map[string]row{
		"IPv4":            {lab.VIP4, func(n *lab.Node) error { return try.Err(n.Run("ip", "link", "set", n.NICs[0].Name, "arp", "off")) }},
		"IPv6, questions": {lab.VIP6, dropped("input", "nd-neighbor-solicit")},
		"IPv6, answers":   {lab.VIP6, dropped("output", "nd-neighbor-advert")},
	}, func(t *testing.T, c row) {
		// A holder that loses the address by its silence is asked no more: with this interval only its answers can lose it.
		g, holder := openHeld(t, trial.Config{Addresses: []netip.Addr{c.vip}, Interval: time.Second})
		settleFor(2 * time.Second) // the first questions are answered
		require.NoError(t, c.fault(holder))
		eventually(t, 40*time.Second, "another node holds the address", func() bool {
			return slices.ContainsFunc(g.Lab.Nodes, func(n *lab.Node) bool { return n != holder && isActive(n) })
		})
		assert.Contains(t, statusOf(t, holder).VIPs[0].Unfit, "get no answer")
	})
}

// A switch drops questions without a sender, as those of the nodes are, or what goes to a single node. The holder answers its clients, and keeps the address.
func TestHolderThatAnswersClientsIsNotBlamed(t *testing.T) {
	drop := func(t *testing.T, n *lab.Node, table string) {
		t.Helper()
		must(n.RunInput(table, "nft", "-f", "-"))(t)
	}
	type row struct{ before, after func(*testing.T, *lab.Node) }
	each(t, map[string]row{
		"questions of nodes are lost": {before: func(t *testing.T, n *lab.Node) {
			drop(t, n, "table arp inspection { chain c { type filter hook input priority 0; arp operation request arp saddr ip 0.0.0.0 drop; }; }")
		}},
		"no answer reaches a backup": {after: func(t *testing.T, n *lab.Node) {
			eth0 := n.NICs[0].Name
			mac := must(n.Run("cat", "/sys/class/net/"+eth0+"/address"))(t)
			drop(t, n, fmt.Sprintf("table netdev stale { chain c { type filter hook ingress device %q priority 0; ether daddr %s arp operation reply drop; }; }", eth0, mac))
		}},
	}, func(t *testing.T, c row) {
		g := prepare(t, trial.Config{Addresses: []netip.Addr{lab.VIP4}})
		if c.before != nil {
			for _, n := range g.Lab.Nodes {
				c.before(t, n)
			}
		}
		require.NoError(t, g.StartAll())
		stays(t, g, func() *lab.Node {
			holder := settled(t, g)
			settleFor(4 * time.Second) // the first questions to a new holder
			blamed := slices.Clone(g.Lab.Nodes)
			if c.after != nil {
				backup := g.Others(holder)[0]
				c.after(t, backup)
				blamed = g.Others(backup) // itself it says what it gets no answers from
			}
			for end := time.Now().Add(25 * time.Second); time.Now().Before(end); settleFor(200 * time.Millisecond) {
				for _, n := range blamed {
					require.Empty(t, statusOf(t, n).VIPs[0].Unfit, n.Label)
				}
			}
			return holder
		})
		reached(t, g)
	})
}

func TestHolderWithAnotherMACIsNoStranger(t *testing.T) {
	each(t, map[string][]netip.Addr{"both families": dualStack(), "IPv6": {lab.VIP6}}, func(t *testing.T, vips []netip.Addr) {
		g, holder := openHeld(t, trial.Config{Addresses: vips, Product: trial.Keepvip{Args: []string{"--on-conflict", "yield"}}})
		settleFor(2 * time.Second)
		require.NoError(t, holder.ChangeMAC(net.HardwareAddr{0x02, 0x98, 0, 0, 1, 0x77}))
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); settleFor(200 * time.Millisecond) { // more than one question
			for _, n := range g.Lab.Nodes {
				s := statusOf(t, n)
				require.Empty(t, s.VIPs[0].Conflicts, "%s", n.Name)
				require.True(t, s.VIPs[0].Eligible, "%s: %s", n.Name, s.VIPs[0].Unfit)
			}
		}
		reached(t, g)
	})
}
