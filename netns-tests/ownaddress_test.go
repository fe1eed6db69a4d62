//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// ownAddressEvent is something that happens to a node whose own address and the virtual one are in the same subnet.
type ownAddressEvent struct {
	name string
	do   func(t *testing.T, g *trial.Group, n *lab.Node, own netip.Prefix)
}

var (
	// appliedAgain makes the virtual address the first of the two.
	appliedAgain = ownAddressEvent{"a network manager applies the own address again", func(t *testing.T, g *trial.Group, n *lab.Node, own netip.Prefix) {
		require.NoError(t, n.RemoveAddress(own))
		require.NoError(t, n.AddAddress(own))
		_, err := n.Run("ip", "route", "replace", "default", "via", routerOf(own).String())
		require.NoError(t, err, "a manager puts in the default route, too")
		settled(t, g)
	}}
	linkBounces = ownAddressEvent{"the link goes and comes back", func(t *testing.T, g *trial.Group, n *lab.Node, _ netip.Prefix) {
		must(n.Run("ip", "link", "set", n.NICs[0].Name, "down"))(t)
		must(n.Run("ip", "link", "set", n.NICs[0].Name, "up"))(t)
		settled(t, g)
	}}
	ends = ownAddressEvent{"SIGTERM", func(t *testing.T, g *trial.Group, n *lab.Node, _ netip.Prefix) {
		must(g.Daemon(n).Terminate(10 * time.Second))(t)
	}}
	isKilled = ownAddressEvent{"SIGKILL, and the end of the lifetime", func(t *testing.T, g *trial.Group, n *lab.Node, _ netip.Prefix) {
		require.NoError(t, g.Daemon(n).Signal(unix.SIGKILL))
		eventually(t, 20*time.Second, "the kernel removes the address", func() bool { return !n.Holds(lab.VIP4) })
	}}
)

func routerOf(own netip.Prefix) netip.Addr { return own.Masked().Addr().Next() }

// Whatever happens to either address, the node keeps its own one with the routes that belong to it, and never speaks as the virtual one.
func TestOwnAddressDoesNotDependOnTheVirtualOne(t *testing.T) {
	each(t, map[string][]ownAddressEvent{
		"own first, SIGTERM": {linkBounces, ends}, "own first, SIGKILL": {isKilled},
		"virtual first, SIGTERM": {appliedAgain, linkBounces, ends}, "virtual first, SIGKILL": {appliedAgain, isKilled},
	}, func(t *testing.T, events []ownAddressEvent) {
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
		n := g.Lab.Nodes[0]
		own := ownPrefix(t, n)
		for _, conf := range []string{"all", n.NICs[0].Name} { // where the kernel takes away what is secondary with what is not
			require.NoError(t, n.Sysctl("net/ipv4/conf/"+conf+"/promote_secondaries", "0"))
		}
		must(n.Run("ip", "route", "replace", "default", "via", routerOf(own).String()))(t)
		runFile(t, g, n, fmt.Sprintf("%svips: [{addresses: [%s/24], interface: %s, check: none}]\n", fileHead, lab.VIP4, n.NICs[0].Name))
		settled(t, g)
		for _, e := range events {
			e.do(t, g, n, own)
			eventually(t, 20*time.Second, "the own address is there, with its routes: "+e.name, func() bool { return keepsOwn(t, n, own) })
			speaksAs(t, n, own, e.name)
		}
	})
}

// listed4 are the IPv4 addresses or routes of a node's first interface.
func listed4(t *testing.T, n *lab.Node, what string) string {
	t.Helper()
	return must(n.Run("ip", "-4", "-o", what, "show", "dev", n.NICs[0].Name))(t)
}

// keepsOwn tells whether a node has its own address as the first one of the subnet, and the route to that.
func keepsOwn(t *testing.T, n *lab.Node, own netip.Prefix) bool {
	t.Helper()
	line := lineWith(listed4(t, n, "address"), own.String())
	return line != "" && !strings.Contains(line, "secondary") && strings.Contains(listed4(t, n, "route"), own.Masked().String())
}

// speaksAs asserts that a node speaks to its subnet as its own address, and never as the virtual one.
func speaksAs(t *testing.T, n *lab.Node, own netip.Prefix, after string) {
	t.Helper()
	out := must(n.Run("ip", "-4", "route", "get", own.Masked().Addr().Next().Next().String()))(t)
	assert.Contains(t, out, "src "+own.Addr().String(), after)
}

func lineWith(text, part string) string {
	for l := range strings.Lines(text) {
		if strings.Contains(l, " "+part+" ") {
			return l
		}
	}
	return ""
}

func ownPrefix(t *testing.T, n *lab.Node) netip.Prefix {
	t.Helper()
	out := listed4(t, n, "address")
	for _, word := range strings.Fields(out) {
		if p, err := netip.ParsePrefix(word); err == nil && p.Addr() != lab.VIP4 {
			return p
		}
	}
	require.Fail(t, "no own address", out)
	return netip.Prefix{}
}

// A subnet that no own address is in is reached while the address is bound, and no longer.
func TestAddressThatBringsItsSubnetIsAnswered(t *testing.T) {
	type row struct{ client, vip, ip, end string }
	each(t, map[string]row{
		"IPv4, SIGKILL": {"10.99.0.9/24", "10.99.0.100/24", "-4", "SIGKILL"},
		"IPv6, SIGTERM": {"fd99::9/64", "fd99::100/64", "-6", "SIGTERM"},
	}, func(t *testing.T, c row) {
		vip := netip.MustParsePrefix(c.vip)
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}, Addresses: []netip.Addr{vip.Addr()}})
		n := g.Lab.Nodes[0]
		must(g.Lab.Client.Run("ip", "address", "add", c.client, "dev", "eth0"))(t)
		runFile(t, g, n, fmt.Sprintf("%svips: [{addresses: [%s], interface: %s, check: none}]\n", fileHead, vip, n.NICs[0].Name))
		assert.True(t, g.Lab.Reaches(g.Lab.Client.Namespace, vip.Addr(), 20*time.Second), "hosts of the subnet get answers")
		settleFor(10 * time.Second) // longer than the address lives that is not renewed
		assert.True(t, g.Lab.Reaches(g.Lab.Client.Namespace, vip.Addr(), 5*time.Second), "they still do")
		gone := func() bool {
			_, err := n.Run("ip", c.ip, "route", "get", strings.Split(c.client, "/")[0])
			return err != nil // there is no default route
		}
		require.False(t, gone(), "there is a route to the subnet")
		if c.end == "SIGTERM" {
			must(g.Daemon(n).Terminate(10 * time.Second))(t)
			assert.True(t, gone(), "the route goes with the address")
			return
		}
		require.NoError(t, g.Daemon(n).Kill9())
		eventually(t, 20*time.Second, "the route goes with the address", gone)
	})
}

// What an older keepvip has left with the length of the subnet, as the first address of it, is removed without the node's own address: where
// the node holds the address, where another one does, and where the address is passed on or drained then.
func TestLeftoverOfTheWholeSubnetGoesWithoutTheOwnAddress(t *testing.T) {
	each(t, map[string]bool{"another node holds the address": true, "alone, then a handover and a drain": false}, func(t *testing.T, held bool) {
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
		n, other := g.Lab.Nodes[0], g.Lab.Nodes[1]
		own, nic := ownPrefix(t, n), n.NICs[0].Name
		start := func(n *lab.Node) {
			runFile(t, g, n, fmt.Sprintf("%svips: [{name: api, addresses: [%s/24], interface: %s, check: none}]\n", fileHead, lab.VIP4, nic))
		}
		if held {
			start(other)
			require.True(t, eventually(t, 20*time.Second, "the other node holds it", func() bool { return other.Holds(lab.VIP4) }))
		}
		for _, conf := range []string{"all", nic} {
			require.NoError(t, n.Sysctl("net/ipv4/conf/"+conf+"/promote_secondaries", "0"))
		}
		require.NoError(t, n.RemoveAddress(own))
		must(n.Run("ip", "address", "add", netip.PrefixFrom(lab.VIP4, own.Bits()).String(), "dev", nic, "metric", strconv.Itoa(0x6b766970), // keepvip's mark
			"valid_lft", "600", "preferred_lft", "0", "noprefixroute"))(t)
		require.NoError(t, n.AddAddress(own))
		must(n.Run("ip", "route", "replace", own.Masked().String(), "dev", nic, "src", own.Addr().String()))(t)
		must(n.Run("ip", "route", "replace", "default", "via", routerOf(own).String(), "src", own.Addr().String()))(t)
		start(n)
		whole := netip.PrefixFrom(lab.VIP4, own.Bits()).String()
		addresses := func() string { return listed4(t, n, "address") }
		require.True(t, eventually(t, 20*time.Second, "the leftover is gone", func() bool { return !containsAddress(addresses(), whole) }), g.Logs())
		intact := func() {
			t.Helper()
			assert.True(t, keepsOwn(t, n, own), "%s\n%s", addresses(), listed4(t, n, "route"))
			assert.NotContains(t, addresses(), own.Addr().String()+"/32")
			assert.Contains(t, listed4(t, n, "route"), "default via "+routerOf(own).String())
			speaksAs(t, n, own, "")
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
