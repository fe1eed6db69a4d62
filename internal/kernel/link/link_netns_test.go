//go:build netns

package link

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

func TestHandleAddTagsAndRemoves(t *testing.T) {
	for _, vip := range []string{"10.1.0.100/32", "fd01::100/128", "10.1.0.100/24"} {
		for _, m := range []tag{{protocol: true}, {metric: true}, {protocol: true, metric: true}} {
			t.Run(vip, func(t *testing.T) {
				s := netnstest.New(t)
				s.Pair("va", s, "vb")
				s.Has("va", "10.1.0.5/24", "fd01::5/64")
				h := handle(t, slog.Default())
				h.tag = m
				index, p := s.Index("va"), netip.MustParsePrefix(vip)
				before := snapshot(t, h, "va").Addresses

				require.NoError(t, h.Add(index, []netip.Prefix{p}, 0))
				got, ok := listed(t, h, "va", vip)
				require.True(t, ok)
				assert.True(t, got.Ours)
				assert.True(t, got.Deprecated)
				assert.False(t, got.Tentative)
				assert.Zero(t, got.Valid)

				require.NoError(t, h.Add(index, []netip.Prefix{p}, 5*time.Second), "again, with a lifetime")
				got, _ = listed(t, h, "va", vip)
				assert.True(t, got.Ours)
				assert.True(t, got.Deprecated)
				assert.InDelta(t, 5, got.Valid.Seconds(), 1)

				require.NoError(t, h.Add(index, []netip.Prefix{p}, 0), "and for ever again")
				got, _ = listed(t, h, "va", vip)
				assert.Zero(t, got.Valid)

				require.NoError(t, h.Remove(index, p))
				require.NoError(t, h.Remove(index, p), "what is absent")
				assert.Equal(t, before, snapshot(t, h, "va").Addresses)
			})
		}
	}
}

func TestHandleAddListsAsWanted(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("va", s, "vb")
	h := handle(t, slog.Default())
	p := netip.MustParsePrefix("10.1.0.100/32")
	h.ListAs(map[netip.Addr]Listing{p.Addr(): {Label: "va:fifteen-char", Scope: ScopeLink}})
	for range 2 { // the second time it is renewed
		require.NoError(t, h.Add(s.Index("va"), []netip.Prefix{p}, 5*time.Second))
		var all []netlink.Addr
		s.In(func() { all, _ = netlink.AddrList(s.Link("va"), netlink.FAMILY_V4) })
		i := slices.IndexFunc(all, func(a netlink.Addr) bool { return a.IP.String() == "10.1.0.100" })
		require.GreaterOrEqual(t, i, 0)
		assert.Equal(t, []any{"va:fifteen-char", int(ScopeLink)}, []any{all[i].Label, all[i].Scope})
	}
	require.NoError(t, h.Remove(s.Index("va"), p), "by its address alone")
	_, there := listed(t, h, "va", p.String())
	assert.False(t, there)
}

func TestHandleAddAdoptsAnUntaggedAddress(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("va", s, "vb")
	s.Has("va", "10.1.0.100/32", "fd01::100/128")
	h := handle(t, slog.Default())
	for _, vip := range []string{"10.1.0.100/32", "fd01::100/128"} {
		got, ok := listed(t, h, "va", vip)
		require.True(t, ok)
		assert.False(t, got.Ours)
		require.NoError(t, h.Add(s.Index("va"), []netip.Prefix{netip.MustParsePrefix(vip)}, 4*time.Second))
		got, _ = listed(t, h, "va", vip)
		assert.True(t, got.Ours)
		assert.True(t, got.Deprecated)
		assert.NotZero(t, got.Valid)
	}
}

func TestHandleErrorsNameTheCause(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("va", s, "vb")
	h := handle(t, slog.Default())
	v4, v6 := netip.MustParsePrefix("10.1.0.100/32"), netip.MustParsePrefix("fd01::100/128")
	assert.ErrorIs(t, h.Add(999, []netip.Prefix{v4}, 0), errGone)
	assert.ErrorIs(t, h.Add(999, []netip.Prefix{v6}, 0), errGone)
	assert.NoError(t, h.Remove(999, v4))
	assert.NoError(t, h.Remove(999, v6))
	s.Sysctl("net/ipv6/conf/va/disable_ipv6", "1")
	assert.ErrorIs(t, h.Add(s.Index("va"), []netip.Prefix{v6}, 0), errNoIPv6)
	assert.NoError(t, h.Remove(s.Index("va"), v6))
	assert.ErrorContains(t, h.Add(s.Index("va"), []netip.Prefix{v4}, -1), "link: add 1 addresses to interface")
}

func TestHandleLifetimeEndsByItself(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("va", s, "vb")
	h := handle(t, slog.Default())
	changed := watch(t, s, h, nil)
	vips := []string{"10.1.0.100/32", "fd01::100/128"}
	start := time.Now()
	for _, vip := range vips {
		require.NoError(t, h.Add(s.Index("va"), []netip.Prefix{netip.MustParsePrefix(vip)}, time.Second))
	}
	for _, vip := range vips {
		s.Eventually(func() bool { _, ok := listed(t, h, "va", vip); return !ok }, vip+" removed by the kernel")
		t.Logf("%s: valid for 1 s, gone after %s", vip, time.Since(start))
	}
	assert.Greater(t, time.Since(start), 900*time.Millisecond)
	seen := changed.Load()
	assert.Greater(t, seen, int64(1), "the kernel reports what it removed")
}

// TestAddressIsNeverASource asks the kernel for the source of connections to a neighbour, to a router's far side, and to nowhere in
// particular, in the layouts in which nodes come.
func TestAddressIsNeverASource(t *testing.T) {
	layouts := []struct {
		name   string
		own    []string
		routes []string
		to     []string
	}{
		{name: "subnet", own: []string{"10.1.0.5/24", "fd01::5/64"}, routes: []string{"default via 10.1.0.1", "default via fd01::1 dev va"}, to: []string{"10.1.0.9", "192.0.2.1", "fd01::9", "2001:db8::1"}},
		{name: "host addresses and a gateway on the link", own: []string{"10.1.0.5/32", "fd01::5/128"}, routes: []string{"default via 10.9.9.1 dev va onlink", "default via fe80::1 dev va"}, to: []string{"192.0.2.1", "10.1.0.9", "2001:db8::1", "fd01::9"}},
		{name: "a larger subnet around it", own: []string{"10.9.0.5/16", "fd01::5/32"}, routes: []string{"10.1.0.0/24 dev va", "default via 10.9.0.1"}, to: []string{"10.1.0.9", "192.0.2.1", "fd01:0:1::9"}},
	}
	for _, tt := range layouts {
		t.Run(tt.name, func(t *testing.T) {
			s := netnstest.New(t)
			s.Pair("va", s, "vb")
			s.Has("va", tt.own...)
			for _, r := range tt.routes {
				s.IP("route add " + r)
			}
			h := handle(t, slog.Default())
			for _, vip := range []string{"10.1.0.100/32", "fd01::100/128"} {
				require.NoError(t, h.Add(s.Index("va"), []netip.Prefix{netip.MustParsePrefix(vip)}, 30*time.Second))
			}
			for _, to := range tt.to {
				c, err := net.Dial("udp", netip.AddrPortFrom(netip.MustParseAddr(to), 9).String())
				require.NoError(t, err)
				got := c.LocalAddr().(*net.UDPAddr).AddrPort().Addr()
				_ = c.Close()
				assert.Contains(t, []string{tt.own[0], tt.own[1]}, netip.PrefixFrom(got, netip.MustParsePrefix(tt.own[boolIndex(got.Is6())]).Bits()).String(), "source toward %s", to)
			}
			as, err := net.InterfaceAddrs()
			require.NoError(t, err)
			t.Logf("order in which programs find the addresses: %v", as)
		})
	}
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestWatchReportsLinksAndAddresses(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("va", s, "vb")
	h := handle(t, slog.Default())
	changed := watch(t, s, h, nil)
	quiet := func() {
		// Router solicitations and duplicate address detection of the new links cause events of their own.
		for last := int64(-1); changed.Load() != last; time.Sleep(50 * time.Millisecond) {
			last = changed.Load()
		}
	}
	steps := []struct {
		name string
		do   func()
	}{
		{"address added", func() { s.Has("va", "10.1.0.5/24") }},
		{"IPv6 address added", func() { s.Has("va", "fd01::5/64") }},
		{"address deleted", func() { s.IP("addr del 10.1.0.5/24 dev va") }},
		{"link down", func() { s.IP("link set vb down") }},
		{"link up", func() { s.IP("link set vb up") }},
		{"MAC changed", func() { s.IP("link set va address 02:00:00:00:00:77") }},
		{"renamed", func() { s.IP("link set va down"); s.IP("link set va name lan0") }},
		{"deleted", func() { s.IP("link del lan0") }},
	}
	for _, step := range steps {
		quiet()
		before := changed.Load()
		step.do()
		took := s.Eventually(func() bool { return changed.Load() > before }, step.name)
		t.Logf("%s: reported within %s", step.name, took)
	}
}

// TestWatchDoesNotReportRenewals: the calls are counted until the kernel has told of the end of the address, which comes after its renewals. The
// link is down: of one that comes up the kernel tells something more, and when is for it to say.
func TestWatchDoesNotReportRenewals(t *testing.T) {
	s := netnstest.New(t)
	require.NoError(t, s.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "va"}, PeerName: "vb"}))
	h := handle(t, slog.Default())
	changed := watch(t, s, h, nil)
	vip := netip.MustParsePrefix("10.1.0.100/32")
	bind := func() { require.NoError(t, h.Add(s.Index("va"), []netip.Prefix{vip}, 9*time.Second)) }
	before := changed.Load()
	bind()
	s.Eventually(func() bool { return changed.Load() > before }, "the address is there")
	bound := changed.Load()
	for range 20 {
		bind()
	}
	require.NoError(t, h.Remove(s.Index("va"), vip))
	s.Eventually(func() bool { return changed.Load() > bound }, "the address is gone")
	assert.Equal(t, bound+1, changed.Load())
}

func TestChooseFollowsARenamedAndARecreatedLink(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("va", s, "vb")
	s.Has("va", "10.1.0.5/24")
	h := handle(t, slog.Default())
	vip := netip.MustParseAddr("10.1.0.100")
	choose := func(name string) (Link, error) {
		links, err := h.Links()
		require.NoError(t, err)
		return Choose(links, vip, name)
	}
	first, err := choose("")
	require.NoError(t, err)
	require.NoError(t, h.Add(first.Index, []netip.Prefix{netip.PrefixFrom(vip, 32)}, 0))

	s.IP("link set va down")
	s.IP("link set va name lan0")
	s.IP("link set lan0 up")
	renamed, err := choose("")
	require.NoError(t, err)
	assert.Equal(t, "lan0", renamed.Name)
	assert.Equal(t, first.Index, renamed.Index)
	_, err = choose("va")
	require.ErrorIs(t, err, ErrNoInterface)

	s.IP("link del lan0")
	_, err = choose("")
	require.ErrorIs(t, err, ErrNoSubnet)
	s.Pair("va", s, "vb")
	s.Has("va", "10.1.0.6/24")
	again, err := choose("")
	require.NoError(t, err)
	assert.NotEqual(t, first.Index, again.Index)
	assert.ErrorIs(t, h.Add(first.Index, []netip.Prefix{netip.PrefixFrom(vip, 32)}, 0), errGone)
}

// TestWatchSurvivesAnOverrun keeps Watch from reading until the kernel has thrown events away.
func TestWatchSurvivesAnOverrun(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("va", s, "vb")
	var out syncBuffer
	h := handle(t, slog.New(slog.NewTextHandler(&out, nil)))
	release := make(chan struct{})
	first := true
	changed := watch(t, s, h, func() {
		if !first {
			<-release
		}
		first = false
	})
	s.Has("va", "10.1.0.5/24")
	s.Eventually(func() bool { return changed.Load() > 1 }, "the report that blocks")
	a, err := netlink.ParseAddr("10.1.0.77/32")
	require.NoError(t, err)
	for range 6000 {
		require.NoError(t, s.AddrAdd(s.Link("va"), a))
		require.NoError(t, s.AddrDel(s.Link("va"), a))
	}
	before := changed.Load()
	close(release)
	s.Eventually(func() bool { return changed.Load() > before }, "a report after the overrun")
	s.Eventually(func() bool { return bytes.Contains(out.Bytes(), []byte("events were lost")) }, "the overrun in the log")
	seen := changed.Load()
	s.Has("va", "10.1.0.6/24")
	s.Eventually(func() bool { return changed.Load() > seen }, "reports go on")
}

// syncBuffer is a log that a test reads while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}
