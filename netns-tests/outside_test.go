//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
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
		cfg   trial.Config
		match string // of nftables
		moves bool   // else those that look say so, and nobody moves it
	}
	each(t, map[string]row{
		"IPv6": {trial.Config{Addresses: []netip.Addr{lab.VIP6}}, "ip6", true},
		"Raft": {trial.RaftConfig(trial.Raft{Heartbeat: 5 * time.Second}), "ip", false}, // a busy machine moves nothing
	}, func(t *testing.T, c row) {
		c.cfg.API, c.cfg.Interval = true, time.Second
		g := open(t, c.cfg)
		vip := g.Addresses[0]
		holder := blockHolder(t, g, fmt.Sprintf("%s daddr %s tcp dport 6443", c.match, vip), func(holder *lab.Node) bool {
			if c.moves {
				return strings.Contains(g.Daemon(holder).Log(), "members cannot connect to the address here")
			}
			return !slices.ContainsFunc(g.Lab.Nodes, func(n *lab.Node) bool {
				return n != holder && !strings.Contains(g.Daemon(n).Log(), `code=KV344 reason="this node`)
			})
		})
		for _, n := range g.Others(holder) {
			eventually(t, 20*time.Second, "the log says it on "+n.Label, func() bool { return strings.Contains(g.Daemon(n).Log(), "KV344") })
		}
		if !c.moves {
			eventually(t, 20*time.Second, "the holder hears of it", func() bool { return strings.Contains(g.Daemon(holder).Log(), "KV344") })
			return
		}
		eventually(t, 20*time.Second, "a node that is reached has the address", func() bool {
			h := g.Holders()
			return len(h) == 1 && h[0] != holder && unreachedAt(t, h[0]) == "" && g.Lab.Answers(g.Lab.Client.Namespace, netip.AddrPortFrom(vip, 6443))
		})
	})
}

// A node with two interfaces and a routing rule for its own address: hosts of other subnets reach that one and not the virtual one. Status, doctor and
// log name it, with the command that mends it, in both families.
func TestRepliesThatARuleForTheOwnAddressAloneLosesAreNamed(t *testing.T) {
	type row struct {
		ip, far, dead string
		vip           netip.Addr
		strict        string
	}
	each(t, map[string]row{
		"IPv4, strict rp_filter": {"-4", "10.97.0.0/24", "10.78.0.254", lab.VIP4, "1"},
		"IPv6":                   {"-6", "fd97::/64", "fd78::fe", lab.VIP6, "0"},
	}, func(t *testing.T, c row) {
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1, NICs: [][]string{{"eth0", "eth1"}}, OffLink: true}, Addresses: []netip.Addr{c.vip}})
		n := g.Lab.Nodes[0]
		own := trial.OwnAddress(n, c.vip)
		router, dead := g.Lab.Router.Address, c.dead
		if c.vip.Is6() {
			router = g.Lab.Router.Addr6
		}
		for _, args := range []string{
			c.ip + " route flush " + c.far,
			c.ip + " route replace default via " + dead + " dev eth1",
			c.ip + " route replace default via " + router.String() + " dev eth0 table 101",
			c.ip + " rule add from " + own.String() + " lookup 101 priority 1000",
		} {
			_, err := n.Run("ip", strings.Fields(args)...)
			require.NoError(t, err, args)
		}
		for _, nic := range []string{"all", "eth0", "eth1"} {
			require.NoError(t, n.Sysctl("net/ipv4/conf/"+nic+"/rp_filter", c.strict))
		}
		file := fmt.Sprintf("%svips: [{name: api, addresses: [%s], interface: eth0, check: none}]\n", fileHead, c.vip)
		path := must(n.WriteFile("doctor.yaml", file, 0o644))(t)
		doctor := func() string { return printed(t, n, "doctor", "--config", path, "--listen", "1500ms") }
		assert.Contains(t, doctor(), "KV342", "before keepvip runs")
		runFile(t, g, n, file)
		settled(t, g)
		reaches := func(a netip.Addr) bool { return g.Lab.Reaches(g.Lab.OffLink.Namespace, a, 2*time.Second) }
		require.True(t, reaches(own), "the own address is reached")
		require.False(t, reaches(c.vip), "the virtual one is not")

		var status string
		require.True(t, eventually(t, 20*time.Second, "status names it", func() bool {
			status = printed(t, n, "status")
			return strings.Contains(status, "[KV342]")
		}), g.Logs())
		want := fmt.Sprintf("replies from %s to hosts of other subnets leave by eth1, and those from this node's own address %s by eth0", c.vip, own)
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
