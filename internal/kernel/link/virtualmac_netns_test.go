//go:build netns

package link

import (
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// sysctl reads a setting of an interface, whose name may have dots.
func sysctl(t *testing.T, family, name, setting string) string {
	t.Helper()
	out, err := exec.Command("cat", "/proc/sys/net/"+family+"/conf/"+name+"/"+setting).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func linksOf(t *testing.T, h *Handle) []Link {
	t.Helper()
	links, err := h.Links()
	require.NoError(t, err)
	return links
}

// deleted deletes the interface of a virtual MAC.
func deleted(t *testing.T, h *Handle, name string) {
	t.Helper()
	gone, err := h.DeleteVirtual(snapshot(t, h, name), linksOf(t, h))
	require.NoError(t, err)
	assert.True(t, gone)
}

func TestVirtualMACsInterfaceIsMadeDownAndDeletedWithoutATrace(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("eth0", s, "peer")
	s.Has("eth0", "10.1.0.5/24")
	h := handle(t, slog.Default())
	all := func() []Link { return linksOf(t, h) }
	four := VirtualMAC{Name: "vrrp.51", On: s.Index("eth0"), MAC: RouterMAC(true, 51)}
	six := VirtualMAC{Name: "vrrp6.51", On: s.Index("eth0"), MAC: RouterMAC(false, 51)}
	for _, v := range []VirtualMAC{four, six} {
		made, err := h.MakeVirtual(v, all())
		require.NoError(t, err)
		l := snapshot(t, h, v.Name)
		assert.True(t, v.Is(l), "%+v", l)
		assert.True(t, v.Is(made))
		assert.Equal(t, l.Index, made.Index)
		assert.False(t, l.Up)
		assert.NoError(t, v.Refuse(l))
		assert.Equal(t, "1", sysctl(t, "ipv4", v.Name, "arp_ignore"))
		assert.Equal(t, "2", sysctl(t, "ipv4", v.Name, "rp_filter"))
		assert.Equal(t, "0", sysctl(t, "ipv6", v.Name, "accept_ra"))
		require.NoError(t, h.SetUp(l.Index, true))
		l = snapshot(t, h, v.Name)
		assert.True(t, l.Up)
		assert.Empty(t, l.Addresses, "no link-local address of its own")
	}
	assert.Equal(t, "00:00:5e:00:02:33", snapshot(t, h, "vrrp6.51").MAC.String())
	assert.Equal(t, "2", sysctl(t, "ipv4", "eth0", "arp_announce"))

	_, err := h.MakeVirtual(four, all())
	assert.Error(t, err, "it is there")
	_, err = h.MakeVirtual(VirtualMAC{Name: "above", On: s.Index("vrrp.51"), MAC: RouterMAC(true, 52)}, all())
	assert.ErrorContains(t, err, "vrrp.51 is a macvlan itself")
	_, err = h.MakeVirtual(VirtualMAC{Name: "nowhere", On: 9999, MAC: RouterMAC(true, 52)}, all())
	assert.ErrorIs(t, err, errGone)

	deleted(t, h, "vrrp.51")
	assert.Equal(t, "2", sysctl(t, "ipv4", "eth0", "arp_announce"), "another one is left")
	deleted(t, h, "vrrp6.51")
	assert.Equal(t, "0", sysctl(t, "ipv4", "eth0", "arp_announce"))
	gone, err := h.DeleteVirtual(Link{Index: 9999, Kind: macvlan, Alias: virtualAlias + "2"}, all())
	assert.NoError(t, err)
	assert.True(t, gone, "already")
	assert.NoError(t, h.SetUp(9999, false))
	assert.Error(t, h.SetUp(9999, true))
}

// TestARPAnnounceIsGivenBackThoughSomebodyDeletesTheInterface, and though the process ends while it gives it back.
func TestARPAnnounceIsGivenBackThoughSomebodyDeletesTheInterface(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("eth0", s, "peer")
	v := VirtualMAC{Name: "vrrp.51", On: s.Index("eth0"), MAC: RouterMAC(true, 51)}
	announce := func() string { return sysctl(t, "ipv4", "eth0", "arp_announce") }
	made := func(h *Handle) {
		t.Helper()
		_, err := h.MakeVirtual(v, linksOf(t, h))
		require.NoError(t, err)
		assert.Equal(t, "2", announce())
	}
	first := handle(t, slog.Default())
	made(first)
	s.IP("link del vrrp.51")
	made(first)

	next := handle(t, slog.Default()) // the next run finds it, and has not made it
	require.True(t, v.Is(snapshot(t, next, "vrrp.51")))
	s.IP("link del vrrp.51")
	made(next)
	deleted(t, next, "vrrp.51")
	assert.Equal(t, "0", announce())

	made(first)
	require.NoError(t, first.giveBack(snapshot(t, first, "vrrp.51"), linksOf(t, first)))
	assert.Equal(t, "0", announce())
	left := snapshot(t, next, "vrrp.51")
	assert.False(t, v.Is(left), "it would be there without the setting")
	require.NoError(t, v.Refuse(left))
	deleted(t, next, "vrrp.51")
	made(next)
	deleted(t, next, "vrrp.51")
	assert.Equal(t, "0", announce())
}

// TestARPAnnounceOfAnOperatorIsKept: what was given back is forgotten, though the interface is listed once more on its way.
func TestARPAnnounceOfAnOperatorIsKept(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("eth0", s, "peer")
	h := handle(t, slog.Default())
	v := VirtualMAC{Name: "vrrp.51", On: s.Index("eth0"), MAC: RouterMAC(true, 51)}
	made := func(v VirtualMAC) {
		t.Helper()
		_, err := h.MakeVirtual(v, linksOf(t, h))
		require.NoError(t, err)
	}
	made(v)
	require.NoError(t, h.giveBack(snapshot(t, h, "vrrp.51"), linksOf(t, h)))
	linksOf(t, h)
	s.IP("link del vrrp.51")
	s.Sysctl("net/ipv4/conf/eth0/arp_announce", "2")
	made(v)
	deleted(t, h, "vrrp.51")
	assert.Equal(t, "2", sysctl(t, "ipv4", "eth0", "arp_announce"))

	s.Sysctl("net/ipv4/conf/eth0/arp_announce", "0")
	made(v)
	require.NoError(t, h.giveBack(snapshot(t, h, "vrrp.51"), linksOf(t, h)))
	s.Sysctl("net/ipv4/conf/eth0/arp_announce", "1")
	six := VirtualMAC{Name: "vrrp6.51", On: v.On, MAC: RouterMAC(false, 51)}
	made(six)
	deleted(t, h, "vrrp6.51")
	assert.Equal(t, "1", sysctl(t, "ipv4", "eth0", "arp_announce"), "one that is about to be deleted needs no setting")
}

// TestVirtualMACsInterfaceGoesThoughARPAnnounceIsRefused: its entry cannot serve before. The setting is given back with the
// next interface there.
func TestVirtualMACsInterfaceGoesThoughARPAnnounceIsRefused(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("eth0", s, "peer")
	h := handle(t, slog.Default())
	_, err := h.MakeVirtual(VirtualMAC{Name: "vrrp.51", On: s.Index("eth0"), MAC: RouterMAC(true, 51)}, linksOf(t, h))
	require.NoError(t, err)
	l, lo := snapshot(t, h, "vrrp.51"), snapshot(t, h, "lo")
	l.Below = lo.Index
	s.IP("link set lo mtu 60") // by which it has no setting of IPv4
	gone, err := h.DeleteVirtual(l, linksOf(t, h))
	assert.ErrorContains(t, err, "set arp_announce of interface 1 to 0 again")
	assert.True(t, gone)
	assert.False(t, slices.ContainsFunc(linksOf(t, h), Link.OursVirtual))

	s.IP("link set lo mtu 65536")
	for now, want := range map[string]string{"2": "0", "1": "1"} {
		s.Sysctl("net/ipv4/conf/lo/arp_announce", now)
		before, err := h.arpAnnounceOf(lo, linksOf(t, h))
		require.NoError(t, err)
		assert.Equal(t, want, before)
	}
}

// Somebody else's interface is refused, and one that a killed run had not marked yet is not.
func TestVirtualMACsInterfaceOfAnotherIsRefused(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("eth0", s, "peer")
	h := handle(t, slog.Default())
	v := VirtualMAC{Name: "vrrp.51", On: s.Index("eth0"), MAC: RouterMAC(true, 51)}
	s.IP("link add vrrp.51 link eth0 address 00:00:5e:00:01:33 type macvlan mode private")
	half := snapshot(t, h, "vrrp.51")
	assert.NoError(t, v.Refuse(half), "down, empty, and with this MAC: half made")
	assert.False(t, v.Is(half))
	s.IP("link set vrrp.51 addrgenmode none")
	s.IP("link set vrrp.51 up")
	assert.ErrorContains(t, v.Refuse(snapshot(t, h, "vrrp.51")), "vrrp.51 is a macvlan that keepvip has not made")
	s.IP("link set peer down")
	s.Eventually(func() bool { return !snapshot(t, h, "vrrp.51").Up }, "it has no carrier")
	assert.Error(t, v.Refuse(snapshot(t, h, "vrrp.51")), "somebody has set it up")
	s.IP("link set vrrp.51 down")
	s.IP("link set vrrp.51 alias keepalived")
	assert.Error(t, v.Refuse(snapshot(t, h, "vrrp.51")))
	v.Name = "peer"
	assert.ErrorContains(t, v.Refuse(snapshot(t, h, "peer")), "peer is a veth that keepvip has not made")
}
