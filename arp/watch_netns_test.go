//go:build netns

package arp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// watching starts Watch on a node. Its sockets are opened before it returns, as the thread moves on to other namespaces.
func (l *lan) watching(n *node, addrs ...netip.Addr) (<-chan Claim, <-chan error) {
	l.t.Helper()
	claims, done := make(chan Claim, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(l.t.Context())
	l.in(n, func() {
		ears, err := listen(&n.ifi, addrs)
		require.NoError(l.t, err)
		go func() { done <- follow(ctx, ears, addrs, func(c Claim) { claims <- c }) }()
	})
	l.t.Cleanup(cancel)
	return claims, done
}

func (l *lan) expect(claims <-chan Claim, want Claim) {
	l.t.Helper()
	select {
	case got := <-claims:
		assert.Equal(l.t, want, got)
	case <-time.After(patience):
		require.Fail(l.t, "no claim heard")
	}
}

func (l *lan) silence(claims <-chan Claim) {
	l.t.Helper()
	select {
	case got := <-claims:
		assert.Fail(l.t, "unexpected", "%+v", got)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestWatchHearsStrangers(t *testing.T) {
	l := newLAN(t)
	us, them := &l.nodes[0], &l.nodes[1]
	v4, v6 := netip.MustParseAddr("10.9.0.100"), netip.MustParseAddr("fd09::100")
	claims, done := l.watching(us, v4, v6)
	ours, theirs := l.open(us), l.open(them)
	mac := them.ifi.HardwareAddr

	require.NoError(t, theirs.Announce(v4))
	l.expect(claims, Claim{v4, mac, Asserted})
	l.expect(claims, Claim{v4, mac, Asserted})
	require.NoError(t, theirs.Announce(v6))
	l.expect(claims, Claim{v6, mac, Asserted})
	require.NoError(t, theirs.Probe(v4))
	l.expect(claims, Claim{v4, mac, Probed})
	require.NoError(t, theirs.Probe(v6))
	l.expect(claims, Claim{v6, mac, Probed})

	require.NoError(t, theirs.Announce(netip.MustParseAddr("10.9.0.7"), netip.MustParseAddr("fd09::7"), netip.MustParseAddr("fd08::100")))
	require.NoError(t, ours.Announce(v4, v6))
	require.NoError(t, ours.Probe(v4, v6))
	l.silence(claims)

	// A silent stranger gives itself away when asked.
	l.in(them, func() {
		eth0, err := netlink.LinkByName("eth0")
		require.NoError(t, err)
		for _, p := range []string{"10.9.0.100/32", "fd09::100/128"} {
			a, err := netlink.ParseAddr(p)
			require.NoError(t, err)
			a.Flags = unix.IFA_F_NODAD
			require.NoError(t, netlink.AddrAdd(eth0, a))
		}
	})
	for len(claims) > 0 {
		<-claims
	}
	start := time.Now()
	require.NoError(t, ours.Probe(v4))
	l.expect(claims, Claim{v4, mac, Asserted})
	t.Logf("IPv4: a silent stranger is known %s after the probe", time.Since(start))
	start = time.Now()
	require.NoError(t, ours.Probe(v6))
	l.expect(claims, Claim{v6, mac, Asserted})
	t.Logf("IPv6: a silent stranger is known %s after the probe", time.Since(start))

	l.in(us, func() {
		eth0, err := netlink.LinkByIndex(us.ifi.Index)
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetDown(eth0))
		require.NoError(t, netlink.LinkSetUp(eth0))
	})
	for start := time.Now(); len(claims) == 0; time.Sleep(10 * time.Millisecond) {
		require.Less(t, time.Since(start), patience)
		require.NoError(t, theirs.Announce(v6))
	}
	l.expect(claims, Claim{v6, mac, Asserted})

	l.in(us, func() {
		eth0, err := netlink.LinkByIndex(us.ifi.Index)
		require.NoError(t, err)
		require.NoError(t, netlink.LinkDel(eth0))
	})
	select {
	case err := <-done:
		assert.ErrorIs(t, err, ErrGone)
	case <-time.After(patience):
		require.Fail(t, "Watch did not notice that the interface is gone")
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	l := newLAN(t)
	l.in(&l.nodes[0], func() {
		for _, addrs := range [][]netip.Addr{nil, {netip.MustParseAddr("10.9.0.100")}, {netip.MustParseAddr("10.9.0.100"), netip.MustParseAddr("fd09::100")}} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			assert.NoError(t, Watch(ctx, &l.nodes[0].ifi, addrs, func(Claim) {}))
			assert.True(t, errors.Is(ctx.Err(), context.DeadlineExceeded))
			cancel()
		}
		err := Watch(t.Context(), &net.Interface{Index: 999, Name: "eth9"}, []netip.Addr{netip.MustParseAddr("10.9.0.100")}, func(Claim) {})
		assert.ErrorContains(t, err, "arp: watch eth9: ")
	})
}
