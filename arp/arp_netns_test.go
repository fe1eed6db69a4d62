//go:build netns

package arp

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mdlayher/arp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const patience = 10 * time.Second

// lan is a client whose bridge two nodes are plugged into, each in a network namespace of its own.
type lan struct {
	t      *testing.T
	client *netlink.Handle
	bridge int
	nodes  [2]node
}

type node struct {
	space int // descriptor of the namespace
	ifi   net.Interface
}

// newLAN takes the calling test's thread, which Go throws away with the namespaces when the test ends. It leaves the test in the client's.
func newLAN(t *testing.T) *lan {
	t.Helper()
	runtime.LockOSThread()
	l := &lan{t: t}
	for i := range l.nodes {
		l.nodes[i].space = newSpace(t)
	}
	newSpace(t)
	var err error
	l.client, err = netlink.NewHandle(unix.NETLINK_ROUTE)
	require.NoError(t, err)
	t.Cleanup(l.client.Close)
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}
	require.NoError(t, l.client.LinkAdd(bridge))
	require.NoError(t, l.client.LinkSetUp(bridge))
	l.bridge = bridge.Index
	for _, prefix := range []string{"10.9.0.1/24", "fd09::1/64"} {
		a, err := netlink.ParseAddr(prefix)
		require.NoError(t, err)
		a.Flags = unix.IFA_F_NODAD
		require.NoError(t, l.client.AddrAdd(bridge, a))
	}
	for i := range l.nodes {
		l.plug(&l.nodes[i], fmt.Sprintf("port%d", i), bridge)
	}
	return l
}

func newSpace(t *testing.T) int {
	t.Helper()
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET), "a network namespace takes root")
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

func (l *lan) plug(n *node, port string, bridge netlink.Link) {
	l.t.Helper()
	require.NoError(l.t, l.client.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: port}, PeerName: "eth0", PeerNamespace: netlink.NsFd(n.space)}))
	here, err := l.client.LinkByName(port)
	require.NoError(l.t, err)
	require.NoError(l.t, l.client.LinkSetMaster(here, bridge))
	require.NoError(l.t, l.client.LinkSetUp(here))
	l.in(n, func() {
		eth0, err := netlink.LinkByName("eth0")
		require.NoError(l.t, err)
		require.NoError(l.t, netlink.LinkSetUp(eth0))
		n.ifi = net.Interface{Index: eth0.Attrs().Index, Name: "eth0", HardwareAddr: eth0.Attrs().HardwareAddr}
	})
	l.heard(l.open(n), netip.MustParseAddr("10.9.0.250"), n.ifi.HardwareAddr)
}

// heard announces until the client hears it: the bridge takes up to a second to see that a port is up.
func (l *lan) heard(c *Conn, addr netip.Addr, mac net.HardwareAddr) {
	l.t.Helper()
	require.NoError(l.t, l.client.NeighSet(&netlink.Neigh{LinkIndex: l.bridge, State: netlink.NUD_REACHABLE, IP: addr.AsSlice(), HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 0xff}}))
	for start := time.Now(); l.believes(addr) != mac.String(); time.Sleep(5 * time.Millisecond) {
		require.Less(l.t, time.Since(start), patience, "%s was not heard", addr)
		require.NoError(l.t, c.Announce(addr))
	}
}

// in runs do in a node's namespace. Sockets that it opens stay there.
func (l *lan) in(n *node, do func()) {
	l.t.Helper()
	back, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(l.t, err)
	defer func() {
		require.NoError(l.t, unix.Setns(back, unix.CLONE_NEWNET))
		require.NoError(l.t, unix.Close(back))
	}()
	require.NoError(l.t, unix.Setns(n.space, unix.CLONE_NEWNET))
	do()
}

func (l *lan) open(n *node) *Conn {
	l.t.Helper()
	var c *Conn
	l.in(n, func() {
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
		require.Less(l.t, time.Since(start), patience, "%s never moved", addr)
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
		l.in(taker, func() {
			eth0, err := netlink.LinkByIndex(taker.ifi.Index)
			require.NoError(t, err)
			require.NoError(t, change(eth0))
		})
	}
	moves := func(mac net.HardwareAddr) {
		t.Helper()
		l.heard(c, addr, mac)
	}
	moves(taker.ifi.HardwareAddr)

	set(netlink.LinkSetDown)
	assert.ErrorIs(t, c.Announce(addr), unix.ENETDOWN)
	set(netlink.LinkSetUp)
	moves(taker.ifi.HardwareAddr)

	set(netlink.LinkSetDown)
	set(netlink.LinkSetUp)
	moves(taker.ifi.HardwareAddr)

	other := net.HardwareAddr{2, 0, 0, 0, 0, 0x77}
	set(func(link netlink.Link) error { return netlink.LinkSetHardwareAddr(link, other) })
	moves(other)

	set(netlink.LinkSetDown)
	set(func(link netlink.Link) error { return netlink.LinkSetName(link, "lan0") })
	set(netlink.LinkSetUp)
	moves(other)

	set(netlink.LinkDel)
	assert.ErrorIs(t, c.Announce(addr), ErrGone)
}

func TestOpenRefusesWhatIsNotEthernet(t *testing.T) {
	l := newLAN(t)
	l.in(&l.nodes[0], func() {
		_, err := Open(&net.Interface{Index: 1, Name: "lo"})
		require.ErrorIs(t, err, ErrNotEthernet)
		assert.ErrorContains(t, err, "arp: open lo: ")
		_, err = Open(&net.Interface{Index: 999, Name: "eth9"})
		assert.Error(t, err)
	})
}

func TestForwardingSetsTheRouterFlag(t *testing.T) {
	l := newLAN(t)
	l.in(&l.nodes[0], func() {
		assert.False(t, forwarding("eth0"))
		require.NoError(t, os.WriteFile("/proc/sys/net/ipv6/conf/eth0/forwarding", []byte("1"), 0))
		assert.True(t, forwarding("eth0"))
		assert.False(t, forwarding("eth9"), "no such interface")
	})
}
