//go:build netns

package fence

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/link"
)

// second gives the holder a second link to the client, and returns how the client asks there.
func (w *wire) second() (resolves func(netip.Addr) bool) {
	w.t.Helper()
	w.holder.Pair("eth1", w.client, "cl1")
	for _, link := range []string{"all", "eth0", "eth1"} {
		w.holder.Sysctl("net/ipv4/conf/"+link+"/rp_filter", "0")
	}
	cl1 := w.client.Index("cl1")
	return func(a netip.Addr) bool {
		w.t.Helper()
		route := &netlink.Route{LinkIndex: cl1, Dst: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}}
		require.NoError(w.t, w.client.RouteReplace(route))
		defer func() { require.NoError(w.t, w.client.RouteDel(route)) }()
		_ = w.client.NeighDel(&netlink.Neigh{LinkIndex: cl1, IP: a.AsSlice()})
		w.ping(a, 30*time.Millisecond)
		family := netlink.FAMILY_V4
		if a.Is6() {
			family = netlink.FAMILY_V6
		}
		list, err := w.client.NeighList(cl1, family)
		require.NoError(w.t, err)
		for _, n := range list {
			if n.IP.Equal(a.AsSlice()) {
				return n.State&(netlink.NUD_REACHABLE|netlink.NUD_STALE|netlink.NUD_DELAY|netlink.NUD_PROBE) != 0
			}
		}
		return false
	}
}

// Linux answers ARP on every link for an address that one of them has.
func TestFenceKeepsOtherLinksFromAnswering(t *testing.T) {
	w := newWire(t)
	asked := w.second()
	f := w.fence(long, 2*long)
	require.True(t, f.otherLinks())
	assert.True(t, w.does(asked, vip4), "nobody holds it yet: the fence is inert")
	require.NoError(t, f.hold(4, 6))
	w.advertiseBoth()
	assert.False(t, asked(vip4), "the holder answers on its own link alone")
	assert.False(t, asked(vip6), "as Linux does with IPv6")
	assert.True(t, w.does(w.resolves, vip4))
	w.lapse(f, 4)
	assert.False(t, w.answers(vip4), "the lease has ended")
	assert.False(t, asked(vip4), "dead")
	assert.True(t, w.does(asked, w.own4), "other addresses")

	four := f.want.groups[4]
	four.Addresses = append(four.Addresses, netip.MustParseAddr("10.1.0.101"))
	require.NoError(t, f.set([]Group{four, f.want.groups[6]}))
	require.NoError(t, f.verify())
	assert.False(t, asked(vip4), "the groups were changed")
	require.NoError(t, f.rebuild(nil))
	assert.False(t, asked(vip4), "built anew")
	require.NoError(t, f.release(4))
	assert.True(t, w.does(asked, vip4), "released")

	require.NoError(t, f.hold(4))
	assert.False(t, asked(vip4), "held again")
	four.Lease, four.Guard = 100*time.Millisecond, 200*time.Millisecond
	require.NoError(t, f.set([]Group{four}))
	require.NoError(t, f.hold(4))
	w.holder.Eventually(func() bool { return asked(vip4) }, "a guard that nobody tends ends")
}

// With a virtual MAC a link of its own has the address, and the one below it answers at no time, whoever holds the address.
func TestFenceKeepsTheLinkBelowAVirtualMACFromAnswering(t *testing.T) {
	w := newWire(t)
	require.NoError(t, w.h.Remove(w.index, netip.PrefixFrom(vip4, 32)))
	links, err := w.h.Links()
	require.NoError(t, err)
	mac := link.RouterMAC(true, 7)
	made, err := w.h.MakeVirtual(link.VirtualMAC{Name: "vrrp.7", On: w.index, MAC: mac}, links)
	require.NoError(t, err)
	answered := func() (macs []string) {
		t.Helper()
		cl0 := w.client.Index("cl0")
		_ = w.client.NeighDel(&netlink.Neigh{LinkIndex: cl0, IP: vip4.AsSlice()})
		w.ping(vip4, 30*time.Millisecond)
		list, err := w.client.NeighList(cl0, netlink.FAMILY_V4)
		require.NoError(t, err)
		for _, n := range list {
			if n.IP.Equal(vip4.AsSlice()) && len(n.HardwareAddr) > 0 {
				macs = append(macs, n.HardwareAddr.String())
			}
		}
		return macs
	}
	group := Group{ID: 4, Addresses: []netip.Addr{vip4}, Advert: Advert{Source: w.own4, VRID: 7}, Lease: long, Guard: 2 * long, Answers: made.Index, MAC: mac}
	f, err := open(w.index, "eth0", 0, []Group{group})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.remove()) })
	require.True(t, f.otherLinks())
	require.NoError(t, f.standBy(4))
	// As when the address was bound to the link below by hand: that of a node that stands by says nothing there.
	require.NoError(t, w.h.Add(w.index, []netip.Prefix{netip.PrefixFrom(vip4, 32)}, 0))
	assert.Empty(t, answered())
	require.NoError(t, w.h.Remove(w.index, netip.PrefixFrom(vip4, 32)))

	require.NoError(t, w.h.SetUp(made.Index, true))
	require.NoError(t, w.h.Add(made.Index, []netip.Prefix{netip.PrefixFrom(vip4, 32)}, 0))
	assert.Empty(t, answered(), "there is no lease")
	require.NoError(t, f.renew(4, time.Now().Add(long)))
	assert.True(t, w.does(func(netip.Addr) bool { return len(answered()) > 0 }, vip4), "the guard of standby, and a lease")
	assert.Equal(t, []string{mac.String()}, answered())
	require.NoError(t, f.hold(4))
	assert.Equal(t, []string{mac.String()}, answered(), "the guard of a holder")
	require.NoError(t, f.verify())
	require.NoError(t, f.rebuild(map[uint32]time.Time{4: time.Now().Add(long)}))
	assert.Equal(t, []string{mac.String()}, answered(), "built anew")
	require.NoError(t, f.set([]Group{group}))
	assert.Equal(t, []string{mac.String()}, answered(), "the groups were set again")
	packets := w.socketOf(unix.AF_PACKET, unix.SOCK_RAW, 0)
	says := func(protocol byte) error {
		frame := slices.Concat([]byte{0x33, 0x33, 0, 0, 0, 0x16}, mac, []byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, protocol, 1}, make([]byte, 16),
			netip.MustParseAddr("ff02::16").AsSlice(), make([]byte, 8))
		return unix.Sendto(packets, frame, 0, &unix.SockaddrLinklayer{Ifindex: made.Index})
	}
	require.NoError(t, says(icmpv6), "the kernel reports a multicast group")
	w.lapse(f, 4)
	assert.Empty(t, answered(), "dead: nobody answers")
	assert.ErrorIs(t, says(icmpv6), unix.ENOBUFS, "dead: nothing takes switches back, or it is dropped on the link below")
	assert.NoError(t, says(vrrp), "an advertisement begins a lease, and is never dropped")
}
