//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// unreachedAt is what the status of a node says of who does not reach the holder.
func unreachedAt(t *testing.T, n *lab.Node) string {
	t.Helper()
	p, _, err := trial.Keepvip{}.Command(n, "status", "--socket", trial.Socket(n))
	if err != nil {
		return err.Error() // a busy machine; who asks asks again
	}
	for line := range strings.Lines(p.Stdout()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "UNREACHED "); ok {
			return text
		}
	}
	return ""
}

// blockHolder has the firewall of the holder drop what matches, once all members have reached it, and waits for what follows from that. Where a busy
// machine moves the address meanwhile, it begins anew with the next holder.
func blockHolder(t *testing.T, g *trial.Group, match string, follows func(holder *lab.Node) bool) *lab.Node {
	t.Helper()
	rule := fmt.Sprintf("table inet firewall { chain in { type filter hook input priority 0; iifname != lo %s drop; }; }", match)
	for range 10 {
		holder := settled(t, g)
		settleFor(12 * time.Second) // two looks
		if !holds(g, holder) {
			continue
		}
		must(holder.RunInput(rule, "nft", "-f", "-"))(t)
		for range 300 { // as long as it is the holder
			if follows(holder) {
				return holder
			}
			if !holds(g, holder) {
				break
			}
			settleFor(200 * time.Millisecond)
		}
		if follows(holder) {
			return holder
		}
		must(holder.Run("nft", "delete", "table", "inet", "firewall"))(t)
	}
	require.Fail(t, "nobody says that the address is not reached", g.Logs())
	return nil
}

// holds tells whether a node alone has the address.
func holds(g *trial.Group, n *lab.Node) bool {
	h := g.Holders()
	return len(h) == 1 && h[0] == n
}

// The firewall of the holder drops connections to the address from outside. Its own checks are well, members hear it, and their connections to its own address
// come. They say that they do not reach the address, and a node that they do reach takes over.
func TestHolderWhoseFirewallDropsTheAddressIsNamedAndGivesItAway(t *testing.T) {
	type row struct {
		vip  netip.Addr
		raft bool
	}
	each(t, map[string]row{
		"IPv6": {vip: lab.VIP6},
		"Raft": {vip: lab.VIP4, raft: true},
	}, func(t *testing.T, c row) {
		cfg := trial.Config{Addresses: []netip.Addr{c.vip}, API: true}
		if c.raft {
			cfg = trial.RaftConfig(trial.Raft{Heartbeat: 5 * time.Second}) // a busy machine moves nothing
			cfg.API = true
		}
		cfg.Interval = time.Second
		g := open(t, cfg)
		moves := !c.raft // else those that look say so, and nobody moves it
		match := fmt.Sprintf("%s daddr %s tcp dport 6443", map[bool]string{true: "ip", false: "ip6"}[c.vip.Is4()], c.vip)
		holder := blockHolder(t, g, match, func(holder *lab.Node) bool {
			if moves {
				return strings.Contains(g.Daemon(holder).Log(), "members cannot connect to the address here")
			}
			return !slices.ContainsFunc(g.Lab.Nodes, func(n *lab.Node) bool {
				return n != holder && !strings.Contains(g.Daemon(n).Log(), `code=KV344 reason="this node`)
			})
		})
		for _, n := range g.Others(holder) {
			eventually(t, 20*time.Second, "the log says it on "+n.Label, func() bool { return strings.Contains(g.Daemon(n).Log(), "KV344") })
		}
		if c.raft {
			eventually(t, 20*time.Second, "the holder hears of it", func() bool { return strings.Contains(g.Daemon(holder).Log(), "KV344") })
		}
		if !moves {
			return
		}
		eventually(t, 20*time.Second, "a node that is reached has the address", func() bool {
			h := g.Holders()
			return len(h) == 1 && h[0] != holder && unreachedAt(t, h[0]) == "" && g.Lab.Answers(g.Lab.Client.Namespace, netip.AddrPortFrom(c.vip, 6443))
		})
	})
}
