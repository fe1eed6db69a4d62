//go:build netns

package netnstests

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// Without the members' messages, too, a node names whose advertisements its own configuration refuses: of a node that it does not list, and of one
// behind a router. Both hold the address, and nobody else can know why.
func TestSplitByConfigurationIsNamedInPlainVRRP(t *testing.T) {
	type row struct {
		listed bool // the second node lists the first one
		rules  string
		code   string
		remedy string
	}
	each(t, map[string]row{
		"half-listed":     {code: "KV319", remedy: "vrrp.peers"},
		"behind a router": {listed: true, code: "KV370", remedy: "vrrp.minTTL", rules: "table ip router { chain out { type filter hook output priority 0; ip protocol 112 ip ttl set 254; }; }"},
	}, func(t *testing.T, tt row) {
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
		first, second := g.Lab.Nodes[0], g.Lab.Nodes[1]
		start := func(n *lab.Node, peers string) {
			runFile(t, g, n, fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nport: 0\nvips: [{name: api, addresses: [%s], interface: %s, check: none, vrrp: {id: 51, peers: [%s]}}]\n",
				lab.VIP4, n.NICs[0].Name, peers))
		}
		if tt.rules != "" {
			must(first.RunInput(tt.rules, "nft", "-f", "-"))(t)
		}
		start(first, first.Address.String()+", "+second.Address.String())
		eventually(t, 20*time.Second, "the first node advertises", func() bool { return first.Holds(lab.VIP4) })
		others := "10.77.0.99"
		if tt.listed {
			others = first.Address.String()
		}
		start(second, second.Address.String()+", "+others)
		said := func() string {
			return printed(t, second, "status")
		}
		require.True(t, eventually(t, 60*time.Second, "it names the cause", func() bool {
			return strings.Contains(said(), tt.code) && strings.Contains(said(), first.Address.String())
		}), said())
		assert.Contains(t, g.Daemon(second).Log(), tt.remedy)
	})
}
