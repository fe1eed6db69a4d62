//go:build netns

package netnstests

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
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
	t.Parallel()
	dropped := func(hook, kind string) func(*lab.Node) error {
		return func(n *lab.Node) error {
			target := lab.VIP6.As16()
			return try.Err(n.RunInput(fmt.Sprintf("table ip6 firewall { chain c { type filter hook %s priority 0; icmpv6 type %s @th,64,128 0x%x drop; }; }", hook, kind, target[:]), "nft", "-f", "-"))
		}
	}
	for name, c := range map[string]struct {
		vip   netip.Addr
		fault func(*lab.Node) error
	}{
		"IPv4":            {lab.VIP4, func(n *lab.Node) error { return try.Err(n.Run("ip", "link", "set", n.NICs[0].Name, "arp", "off")) }},
		"IPv6, questions": {lab.VIP6, dropped("input", "nd-neighbor-solicit")},
		"IPv6, answers":   {lab.VIP6, dropped("output", "nd-neighbor-advert")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // seconds of waiting for questions
			g := open(t, trial.Config{Addresses: []netip.Addr{c.vip}})
			holder := settled(t, g)
			settleFor(2 * time.Second) // the first questions are answered
			require.NoError(t, c.fault(holder))
			eventually(t, 40*time.Second, "another node holds the address", func() bool {
				return slices.ContainsFunc(g.Lab.Nodes, func(n *lab.Node) bool { return n != holder && isActive(n) })
			})
			assert.Contains(t, statusOf(t, holder).VIPs[0].Unfit, "get no answer")
		})
	}
}

func TestHolderWithAnotherMACIsNoStranger(t *testing.T) {
	t.Parallel()
	for name, vips := range map[string][]netip.Addr{"both families": dualStack(), "IPv6": {lab.VIP6}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // seconds of waiting for questions
			g := open(t, trial.Config{Addresses: vips, Product: trial.Keepvip{Args: []string{"--on-conflict", "yield"}}})
			holder := settled(t, g)
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
}

// Nothing arrives at a node, and what it sends does. It neither takes nor keeps the address for clients, and the others name it.
func TestDeafNodeNeitherTakesNorKeepsTheAddress(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	for name, tt := range map[string]struct {
		holder bool // it is the holder that becomes deaf, else the backup of the highest address
		v6     bool
	}{
		"backup with the highest address": {},
		"holder, by IPv6":                 {holder: true, v6: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vip := lab.VIP4
			if tt.v6 {
				vip = lab.VIP6
			}
			g := open(t, trial.Config{Addresses: []netip.Addr{vip}})
			holder := settled(t, g)
			deaf := holder
			if last := g.Lab.Nodes[2]; !tt.holder { // it has the highest address
				deaf = map[bool]*lab.Node{true: g.Lab.Nodes[1], false: last}[last == holder]
			}
			settleFor(15 * time.Second) // the nodes get to know each other by ARP or neighbour discovery
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
				bound := 0
				for _, n := range g.Lab.Nodes {
					s, err := trial.Keepvip{}.Status(n)
					if err != nil || !s.VIPs[0].Eligible {
						return false
					}
					if s.VIPs[0].State == "active" {
						bound++
					}
				}
				return bound == 1
			})
			reached(t, g)
			if r := m.Stop(); deaf != holder && r.BySilence(0) == 0 {
				assert.NotContains(t, strings.TrimPrefix(g.Daemon(holder).Log(), said), "from=active", "a deaf backup moves nothing")
			}
		})
	}
}

// namesDeaf tells whether the status of a node calls itself (self), or another one, deaf.
func namesDeaf(on *lab.Node, self bool) bool {
	s, err := trial.Keepvip{}.Status(on)
	if err != nil || len(s.VIPs) == 0 {
		return false
	}
	if self {
		return strings.Contains(s.VIPs[0].Unfit, "DEAF")
	}
	for _, m := range s.VIPs[0].Members {
		if !m.Self && strings.Contains(m.Unfit, "DEAF") {
			return true
		}
	}
	return false
}

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
	t.Parallel()
	for name, c := range map[string]struct {
		vip  netip.Addr
		raft bool
	}{
		"IPv6": {vip: lab.VIP6},
		"Raft": {vip: lab.VIP4, raft: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
}

// A firewall that does not let protocol 112 out: nothing renews the lease of the fence, so the kernel silences the holder. An output hook tells
// the sender. The egress hook of another table drops what the kernel has taken from the socket: nobody is told, also of the frame by
// which a unicast lease is renewed, and the lease runs out.
func TestHolderWhoseAdvertisementsDoNotLeaveIsNotSaidToServe(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	const egress = `netdev kvtest { chain c { type filter hook egress device "eth0" priority 0; meta l4proto 112 drop; }; }`
	for name, tt := range map[string]struct {
		table, reason string
		args          []string
	}{
		"refused":                    {"inet kvtest { chain c { type filter hook output priority 0; meta l4proto 112 drop; }; }", "let protocol 112 (VRRP) out", nil},
		"dropped unsaid":             {egress, "another nftables table", nil},
		"dropped unsaid, by unicast": {egress, "another nftables table", []string{"--peer", "10.77.0.11"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, trial.Config{
				Lab: lab.Config{Nodes: 1}, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}, Product: trial.Keepvip{Args: tt.args},
			})
			n := settled(t, g)
			must(n.RunInput("table "+tt.table, "nft", "-f", "-"))(t)
			answers := func() bool { return g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, 50*time.Millisecond) }
			eventually(t, time.Second, "the fence silences the node", func() bool { return !answers() })
			eventually(t, 4*time.Second, "status says so, and why", func() bool {
				s, err := trial.Keepvip{}.Status(n)
				return err == nil && s.VIPs[0].Observed == "fault" && s.VIPs[0].Silent && s.VIPs[0].Holder == "" && strings.Contains(s.VIPs[0].Reason, tt.reason)
			})

			must(n.Run("nft", "delete", "table", strings.Fields(tt.table)[0], "kvtest"))(t)
			eventually(t, 4*time.Second, "it serves again", shows(n, func(v trial.VIPStatus) bool { return v.Observed == "active" && answers() }))
		})
	}
}
