//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// unreachedAt is what the status of a node says of who does not reach the holder.
func unreachedAt(t *testing.T, n *lab.Node) string {
	t.Helper()
	p, _, err := trial.Keepvip{}.Command(n, "status", "--socket", trial.Socket(n))
	require.NoError(t, err)
	for line := range strings.Lines(p.Stdout()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "UNREACHED "); ok {
			return text
		}
	}
	return ""
}

// The firewall of the holder drops connections to the address from outside. Its own checks are well, members hear it, and their connections to its own address
// come. They say that they do not reach the address, and a node that they do reach takes over.
func TestHolderWhoseFirewallDropsTheAddressIsNamedAndGivesItAway(t *testing.T) {
	for name, c := range map[string]struct {
		vip  netip.Addr
		args []string
		raft bool
	}{
		"IPv4":          {vip: lab.VIP4},
		"IPv6":          {vip: lab.VIP6},
		"preempt=false": {vip: lab.VIP4, args: []string{"--preempt=false"}},
		"port 0":        {vip: lab.VIP4, args: []string{"--port", "0"}},
		"Raft":          {vip: lab.VIP4, raft: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := trial.Config{Addresses: []netip.Addr{c.vip}, Product: trial.Keepvip{Args: c.args}, API: true}
			if c.raft {
				cfg = trial.RaftConfig(trial.Raft{})
				cfg.API = true
			}
			g := open(t, cfg)
			holder := settled(t, g)
			settleFor(12 * time.Second) // members have looked, and have reached it
			for _, n := range g.Lab.Nodes {
				require.Empty(t, unreachedAt(t, n), "on %s", n.Label)
			}
			_, err := holder.RunInput(fmt.Sprintf("table inet firewall { chain in { type filter hook input priority 0; iifname != lo %s daddr %s tcp dport 6443 drop; }; }",
				map[bool]string{true: "ip", false: "ip6"}[c.vip.Is4()], c.vip), "nft", "-f", "-")
			require.NoError(t, err)
			if c.raft || len(c.args) == 2 { // nobody moves it: those that look say so themselves
				for _, n := range g.Lab.Nodes {
					if n != holder {
						require.True(t, eventually(t, 30*time.Second, "it is named on "+n.Label, func() bool {
							return strings.Contains(unreachedAt(t, n), "this node cannot connect to the address at its holder")
						}), g.Logs())
					}
				}
				assert.Equal(t, []*lab.Node{holder}, g.Holders())
				return
			}
			require.True(t, eventually(t, 40*time.Second, "a node that is reached has the address", func() bool {
				h := g.Holders()
				return len(h) == 1 && h[0] != holder
			}), g.Logs())
			for _, n := range g.Lab.Nodes {
				if n != holder {
					assert.Contains(t, g.Daemon(n).Log(), "KV344", "on %s", n.Label)
				}
			}
			assert.Contains(t, g.Daemon(holder).Log(), "members cannot connect to the address here")
			taker := g.Holders()[0]
			assert.True(t, g.Lab.Answers(g.Lab.Client.Namespace, netip.AddrPortFrom(c.vip, 6443)), "clients are served")
			settleFor(12 * time.Second) // longer than the former holder comes last
			assert.Equal(t, []*lab.Node{taker}, g.Holders())
			assert.Empty(t, unreachedAt(t, taker))
		})
	}
}
