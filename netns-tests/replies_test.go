//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// A node with two interfaces and a routing rule for its own address: hosts of other subnets reach that one and not the virtual one. Status, doctor and
// log name it, with the command that mends it, in both families.
func TestRepliesThatARuleForTheOwnAddressAloneLosesAreNamed(t *testing.T) {
	type row struct {
		ip, far, dead string
		vip           netip.Addr
		own           func(*lab.Node) netip.Addr
		strict        string
	}
	each(t, map[string]row{
		"IPv4, strict rp_filter": {"-4", "10.97.0.0/24", "10.78.0.254", lab.VIP4, func(n *lab.Node) netip.Addr { return n.Address }, "1"},
		"IPv6":                   {"-6", "fd97::/64", "fd78::fe", lab.VIP6, func(n *lab.Node) netip.Addr { return n.Addr6 }, "0"},
	}, func(t *testing.T, c row) {
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1, NICs: [][]string{{"eth0", "eth1"}}, OffLink: true}, Addresses: []netip.Addr{c.vip}})
		n := g.Lab.Nodes[0]
		router, dead := g.Lab.Router.Address, c.dead
		if c.vip.Is6() {
			router = g.Lab.Router.Addr6
		}
		for _, args := range []string{
			c.ip + " route flush " + c.far,
			c.ip + " route replace default via " + dead + " dev eth1",
			c.ip + " route replace default via " + router.String() + " dev eth0 table 101",
			c.ip + " rule add from " + c.own(n).String() + " lookup 101 priority 1000",
		} {
			_, err := n.Run("ip", strings.Fields(args)...)
			require.NoError(t, err, args)
		}
		for _, nic := range []string{"all", "eth0", "eth1"} {
			require.NoError(t, n.Sysctl("net/ipv4/conf/"+nic+"/rp_filter", c.strict))
		}
		file := fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nvips: [{name: api, addresses: [%s], interface: eth0, check: none}]\n", c.vip)
		path := must(n.WriteFile("doctor.yaml", file, 0o644))(t)
		doctor := func() string { return printed(t, n, "doctor", "--config", path, "--listen", "1500ms") }
		assert.Contains(t, doctor(), "KV342", "before keepvip runs")
		runFile(t, g, n, file)
		settled(t, g)
		reaches := func(a netip.Addr) bool { return g.Lab.Reaches(g.Lab.OffLink.Namespace, a, 2*time.Second) }
		require.True(t, reaches(c.own(n)), "the own address is reached")
		require.False(t, reaches(c.vip), "the virtual one is not")

		var status string
		require.True(t, eventually(t, 20*time.Second, "status names it", func() bool {
			status = printed(t, n, "status")
			return strings.Contains(status, "[KV342]")
		}), g.Logs())
		want := fmt.Sprintf("replies from %s to hosts of other subnets leave by eth1, and those from this node's own address %s by eth0", c.vip, c.own(n))
		assert.Contains(t, status, want)
		said := ""
		eventually(t, 20*time.Second, "doctor names it", func() bool { // also where the address is away for a moment
			said = doctor()
			return strings.Contains(said, want)
		})
		assert.NotContains(t, said, "KV434", "rp_filter is not the cause")
		settleFor(6 * time.Second) // longer than until the next look
		assert.Equal(t, 1, strings.Count(g.Daemon(n).Log(), "KV342"), "it is said once")

		command := regexp.MustCompile(`ip (-6 )?rule add [^\n"]*`).FindString(said)
		require.NotEmpty(t, command, said)
		_, err := n.Run("sh", "-c", command)
		require.NoError(t, err, command)
		assert.True(t, eventually(t, 5*time.Second, "the virtual address answers", func() bool { return reaches(c.vip) }), command)
		assert.True(t, eventually(t, 20*time.Second, "nothing is wrong any more", func() bool {
			p, _, err := trial.Keepvip{}.Command(n, "status", "--socket", trial.Socket(n))
			return err == nil && !strings.Contains(p.Stdout(), "KV342")
		}))
		said = doctor()
		assert.NotContains(t, said, "KV342")
		assert.NotContains(t, said, "KV434")
	})
}
