//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// What an older keepvip has left with the length of the subnet, as the first address of it, is removed without the node's own address: where
// the node holds the address, where another one does, and where the address is passed on or drained then.
func TestLeftoverOfTheWholeSubnetGoesWithoutTheOwnAddress(t *testing.T) {
	t.Parallel()
	for _, promote := range []string{"0", "1"} {
		for name, held := range map[string]bool{"another node holds the address": true, "alone, then a handover and a drain": false} {
			t.Run("promote_secondaries "+promote+", "+name, func(t *testing.T) {
				t.Parallel()
				g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
				n, other := g.Lab.Nodes[0], g.Lab.Nodes[1]
				own, nic := ownPrefix(t, n), n.NICs[0].Name
				start := func(n *lab.Node) {
					runFile(t, g, n, fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nvips: [{name: api, addresses: [%s/24], interface: %s, check: none}]\n", lab.VIP4, nic))
				}
				if held {
					start(other)
					require.True(t, eventually(t, 20*time.Second, "the other node holds it", func() bool { return other.Holds(lab.VIP4) }))
				}
				for _, conf := range []string{"all", nic} {
					require.NoError(t, n.Sysctl("net/ipv4/conf/"+conf+"/promote_secondaries", promote))
				}
				require.NoError(t, n.RemoveAddress(own))
				must(n.Run("ip", "address", "add", netip.PrefixFrom(lab.VIP4, own.Bits()).String(), "dev", nic, "metric", strconv.Itoa(0x6b766970), // keepvip's mark
					"valid_lft", "600", "preferred_lft", "0", "noprefixroute"))(t)
				require.NoError(t, n.AddAddress(own))
				must(n.Run("ip", "route", "replace", own.Masked().String(), "dev", nic, "src", own.Addr().String()))(t)
				must(n.Run("ip", "route", "replace", "default", "via", routerOf(own).String(), "src", own.Addr().String()))(t)
				start(n)
				whole := netip.PrefixFrom(lab.VIP4, own.Bits()).String()
				addresses := func() string {
					return must(n.Run("ip", "-4", "-o", "address", "show", "dev", nic))(t)
				}
				require.True(t, eventually(t, 20*time.Second, "the leftover is gone", func() bool { return !containsAddress(addresses(), whole) }), g.Logs())
				intact := func() {
					t.Helper()
					line := lineWith(addresses(), own.String())
					require.NotEmpty(t, line, "the own address is there: %s", addresses())
					assert.NotContains(t, line, "secondary")
					assert.NotContains(t, addresses(), own.Addr().String()+"/32")
					routes := must(n.Run("ip", "-4", "route", "show", "dev", nic))(t)
					assert.Contains(t, routes, own.Masked().String())
					assert.Contains(t, routes, "default via "+routerOf(own).String())
					out := must(n.Run("ip", "-4", "route", "get", own.Masked().Addr().Next().Next().String()))(t)
					assert.Contains(t, out, "src "+own.Addr().String())
				}
				intact()
				if held {
					return
				}
				moves := func(what string, from, to *lab.Node) {
					t.Helper()
					require.True(t, eventually(t, 20*time.Second, from.Label+" holds the address", func() bool { return from.Holds(lab.VIP4) }), g.Logs())
					eventually(t, 20*time.Second, "a node can take it", func() bool { return command(t, from, what) == 0 })
					require.True(t, eventually(t, 20*time.Second, to.Label+" holds it", func() bool { return to.Holds(lab.VIP4) && !from.Holds(lab.VIP4) }), g.Logs())
				}
				start(other)
				moves("handover", n, other)
				intact()
				moves("handover", other, n)
				moves("drain", n, other)
				intact()
			})
		}
	}
}
