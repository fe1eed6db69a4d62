//go:build netns

package arp

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/mdlayher/arp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// lan is a client whose bridge two nodes are plugged into, each in a network namespace of its own.
type lan struct {
	t      *testing.T
	client *netnstest.Space
	bridge int
	nodes  [2]node
}

type node struct {
	*netnstest.Space

	ifi net.Interface
}

// newLAN leaves the test in the client's namespace.
func newLAN(t *testing.T) *lan {
	t.Helper()
	l := &lan{t: t}
	for i := range l.nodes {
		l.nodes[i].Space = netnstest.New(t)
	}
	l.client = netnstest.New(t)
	l.client.Bridge("br0")
	l.bridge = l.client.Index("br0")
	l.client.Has("br0", "10.9.0.1/24", "fd09::1/64")
	for i := range l.nodes {
		l.plug(&l.nodes[i], fmt.Sprintf("port%d", i))
	}
	return l
}

func (l *lan) plug(n *node, port string) {
	l.t.Helper()
	l.client.Plug("br0", port, n.Space)
	eth0 := n.Link("eth0").Attrs()
	n.ifi = net.Interface{Index: eth0.Index, Name: "eth0", HardwareAddr: eth0.HardwareAddr}
	l.heard(l.open(n), netip.MustParseAddr("10.9.0.250"), n.ifi.HardwareAddr)
}

// heard announces until the client hears it: the bridge takes up to a second to see that a port is up.
func (l *lan) heard(c *Conn, addr netip.Addr, mac net.HardwareAddr) {
	l.t.Helper()
	require.NoError(l.t, l.client.NeighSet(&netlink.Neigh{LinkIndex: l.bridge, State: netlink.NUD_REACHABLE, IP: addr.AsSlice(), HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 0xff}}))
	for start := time.Now(); l.believes(addr) != mac.String(); time.Sleep(5 * time.Millisecond) {
		require.Less(l.t, time.Since(start), netnstest.Patience, "%s was not heard", addr)
		require.NoError(l.t, c.Announce(addr))
	}
}

func (l *lan) open(n *node) *Conn {
	l.t.Helper()
	var c *Conn
	n.In(func() {
		var err error
		c, err = Open(&n.ifi)
		require.NoError(l.t, err)
	})
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// knows puts a REACHABLE entry into the client's neighbour table, updated this very moment.
func (l *lan) knows(addr netip.Addr, mac net.HardwareAddr) {
	l.t.Helper()
	require.NoError(l.t, l.client.NeighSet(&netlink.Neigh{LinkIndex: l.bridge, State: netlink.NUD_REACHABLE, IP: addr.AsSlice(), HardwareAddr: mac}))
	require.Equal(l.t, mac.String(), l.believes(addr), "the entry before")
}

// believes is the MAC that the client would send to.
func (l *lan) believes(addr netip.Addr) string {
	l.t.Helper()
	family := netlink.FAMILY_V4
	if addr.Is6() {
		family = netlink.FAMILY_V6
	}
	neighs, err := l.client.NeighList(l.bridge, family)
	require.NoError(l.t, err)
	for _, n := range neighs {
		if n.IP.Equal(addr.AsSlice()) {
			return n.HardwareAddr.String()
		}
	}
	return "nobody"
}

func (l *lan) moved(addr netip.Addr, to net.HardwareAddr, start time.Time) time.Duration {
	l.t.Helper()
	for l.believes(addr) != to.String() {
		require.Less(l.t, time.Since(start), netnstest.Patience, "%s never moved", addr)
	}
	return time.Since(start)
}

// TestEachFormMovesAReachableNeighbour sends each announcement form alone.
func TestEachFormMovesAReachableNeighbour(t *testing.T) {
	l := newLAN(t)
	holder, taker := &l.nodes[0], &l.nodes[1]
	c := l.open(taker)
	v4, v6 := netip.MustParseAddr("10.9.0.100"), netip.MustParseAddr("fd09::100")
	mac := taker.ifi.HardwareAddr
	request, err := gratuitousARP(arp.OperationRequest, mac, v4)
	require.NoError(t, err)
	reply, err := gratuitousARP(arp.OperationReply, mac, v4)
	require.NoError(t, err)
	na, err := unsolicitedNA(mac, v6, false)
	require.NoError(t, err)
	for _, tt := range []struct {
		name  string
		addr  netip.Addr
		frame []byte
	}{{"ARP request", v4, request}, {"ARP reply", v4, reply}, {"neighbour advertisement", v6, na}} {
		t.Run(tt.name, func(t *testing.T) {
			var took []time.Duration
			for range 20 {
				l.knows(tt.addr, holder.ifi.HardwareAddr)
				start := time.Now()
				require.NoError(t, c.send([][]byte{tt.frame}))
				took = append(took, l.moved(tt.addr, mac, start))
			}
			slices.Sort(took)
			t.Logf("moved after %s in the median, %s at worst", took[len(took)/2], took[len(took)-1])
		})
	}
}

func TestConnAnnounceMovesEveryAddress(t *testing.T) {
	l := newLAN(t)
	holder, taker := &l.nodes[0], &l.nodes[1]
	c := l.open(taker)
	var addrs []netip.Addr
	for i := range 500 {
		addrs = append(addrs, netip.AddrFrom4([4]byte{10, 9, 1 + byte(i>>8), byte(i)}), netip.AddrFrom16([16]byte{0: 0xfd, 1: 9, 14: byte(i >> 8), 15: byte(i)}).Next())
	}
	first, last := addrs[0], addrs[len(addrs)-1]
	l.knows(first, holder.ifi.HardwareAddr)
	l.knows(last, holder.ifi.HardwareAddr)
	start := time.Now()
	require.NoError(t, c.Announce(addrs...))
	sent := time.Since(start)
	l.moved(first, taker.ifi.HardwareAddr, start)
	l.moved(last, taker.ifi.HardwareAddr, start)
	t.Logf("%d addresses, 500 of each family, sent in %s, the last moved after %s", len(addrs), sent, time.Since(start))
}

func TestConnFollowsItsLink(t *testing.T) {
	l := newLAN(t)
	taker := &l.nodes[1]
	c := l.open(taker)
	addr := netip.MustParseAddr("10.9.0.100")
	set := func(change func(netlink.Link) error) {
		eth0, err := taker.LinkByIndex(taker.ifi.Index)
		require.NoError(t, err)
		require.NoError(t, change(eth0))
	}
	moves := func(mac net.HardwareAddr) {
		t.Helper()
		l.heard(c, addr, mac)
	}
	moves(taker.ifi.HardwareAddr)

	set(taker.LinkSetDown)
	assert.ErrorIs(t, c.Announce(addr), unix.ENETDOWN)
	set(taker.LinkSetUp)
	moves(taker.ifi.HardwareAddr)

	set(taker.LinkSetDown)
	set(taker.LinkSetUp)
	moves(taker.ifi.HardwareAddr)

	other := net.HardwareAddr{2, 0, 0, 0, 0, 0x77}
	set(func(link netlink.Link) error { return taker.LinkSetHardwareAddr(link, other) })
	moves(other)

	set(taker.LinkSetDown)
	set(func(link netlink.Link) error { return taker.LinkSetName(link, "lan0") })
	set(taker.LinkSetUp)
	moves(other)

	set(taker.LinkDel)
	assert.ErrorIs(t, c.Announce(addr), ErrGone)
}

func TestOpenRefusesWhatIsNotEthernet(t *testing.T) {
	newLAN(t).nodes[0].In(func() {
		_, err := Open(&net.Interface{Index: 1, Name: "lo"})
		require.ErrorIs(t, err, ErrNotEthernet)
		assert.ErrorContains(t, err, "arp: open lo: ")
		_, err = Open(&net.Interface{Index: 999, Name: "eth9"})
		assert.Error(t, err)
	})
}

func TestForwardingSetsTheRouterFlag(t *testing.T) {
	n := &newLAN(t).nodes[0]
	n.In(func() {
		assert.False(t, forwarding("eth0"))
		n.Sysctl("net/ipv6/conf/eth0/forwarding", "1")
		assert.True(t, forwarding("eth0"))
		assert.False(t, forwarding("eth9"), "no such interface")
	})
}
