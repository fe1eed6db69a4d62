//go:build netns

package arp

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// newListener makes a Listener on a node. Its sockets are opened by the first watcher, on the test's thread.
func (l *lan) newListener(n *node) (*Listener, <-chan error) {
	failed := make(chan error, 100)
	listener := NewListener(&n.ifi, func(err error) { failed <- err })
	l.t.Cleanup(listener.Close)
	return listener, failed
}

// watch adds a watcher to a Listener on a node.
func (l *lan) watch(n *node, listener *Listener, addrs ...netip.Addr) (<-chan Claim, func()) {
	l.t.Helper()
	claims := make(chan Claim, 100)
	var stop func()
	n.In(func() { stop = listener.Watch(addrs, func(c Claim) { claims <- c }) })
	return claims, stop
}

func (l *lan) expect(claims <-chan Claim, want Claim) {
	l.t.Helper()
	select {
	case got := <-claims:
		assert.Equal(l.t, want, got)
	case <-time.After(netnstest.Patience):
		require.Fail(l.t, "no claim heard")
	}
}

// claims asks until the claim is heard, as the schedule of probes does: a probe is a datagram.
func (l *lan) claims(c *Conn, claims <-chan Claim, want Claim) {
	l.t.Helper()
	for start := time.Now(); ; {
		require.Less(l.t, time.Since(start), netnstest.Patience, "no claim heard")
		require.NoError(l.t, c.Probe(want.Addr))
		select {
		case got := <-claims:
			if got.Addr == want.Addr {
				assert.Equal(l.t, want, got)
				return
			}
		case <-time.After(500 * time.Millisecond):
		}
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

func TestListenerHearsForeignHosts(t *testing.T) {
	l := newLAN(t)
	us, them := &l.nodes[0], &l.nodes[1]
	v4, v6 := netip.MustParseAddr("10.9.0.100"), netip.MustParseAddr("fd09::100")
	listener, failed := l.newListener(us)
	claims, _ := l.watch(us, listener, v4, v6)
	ours, theirs := l.open(us), l.open(them)
	mac := them.ifi.HardwareAddr

	require.NoError(t, theirs.Announce(v4))
	l.expect(claims, Claim{v4, mac, false})
	l.expect(claims, Claim{v4, mac, false})
	require.NoError(t, theirs.Announce(v6))
	l.expect(claims, Claim{v6, mac, false})
	require.NoError(t, theirs.Announce(netip.MustParseAddr("10.9.0.7"), netip.MustParseAddr("fd09::7"), netip.MustParseAddr("fd08::100")))
	require.NoError(t, ours.Announce(v4, v6))
	require.NoError(t, ours.Probe(v4, v6))
	require.NoError(t, theirs.Probe(v4, v6))
	l.silence(claims)

	// A silent foreign host gives itself away when asked.
	them.Has("eth0", "10.9.0.100/32", "fd09::100/128")
	for _, addr := range []netip.Addr{v4, v6} {
		for len(claims) > 0 {
			<-claims
		}
		start := time.Now()
		l.claims(ours, claims, Claim{addr, mac, addr.Is4()})
		t.Logf("%s: a silent foreign host is known %s after the first probe", addr, time.Since(start))
	}

	require.NoError(t, us.LinkSetDown(us.Link("eth0")))
	for len(claims) > 0 {
		<-claims
	}
	us.Up("eth0")
	for start := time.Now(); len(claims) == 0; time.Sleep(10 * time.Millisecond) {
		require.Less(t, time.Since(start), netnstest.Patience)
		require.NoError(t, theirs.Announce(v6))
	}
	l.expect(claims, Claim{v6, mac, false})

	require.NoError(t, us.LinkDel(us.Link("eth0")))
	select {
	case err := <-failed:
		assert.ErrorIs(t, err, ErrGone)
	case <-time.After(netnstest.Patience):
		require.Fail(t, "nobody noticed that the interface is gone")
	}
}

func TestListenerServesManyWatchers(t *testing.T) {
	l := newLAN(t)
	us, them := &l.nodes[0], &l.nodes[1]
	listener, failed := l.newListener(us)
	theirs := l.open(them)
	mac := them.ifi.HardwareAddr
	var (
		claims []<-chan Claim
		stops  []func()
		addrs  []netip.Addr
	)
	for i := range 255 {
		addrs = append(addrs, netip.AddrFrom4([4]byte{192, 168, 0, byte(i + 1)}))
		c, stop := l.watch(us, listener, addrs[i], addrs[0])
		claims, stops = append(claims, c), append(stops, stop)
	}
	assert.Equal(t, 1, l.packetSockets(us))
	require.NoError(t, theirs.Announce(addrs[200]))
	for range 2 { // a request and a reply
		l.expect(claims[200], Claim{addrs[200], mac, false})
	}
	require.NoError(t, theirs.Announce(addrs[0]))
	for _, c := range claims {
		l.expect(c, Claim{addrs[0], mac, false})
		l.expect(c, Claim{addrs[0], mac, false})
	}
	stops[200]()
	require.NoError(t, theirs.Announce(addrs[200]))
	l.silence(claims[200])
	for _, stop := range stops {
		stop()
	}
	for start := time.Now(); l.packetSockets(us) > 0; time.Sleep(10 * time.Millisecond) {
		require.Less(t, time.Since(start), netnstest.Patience, "the socket outlives the last watcher")
	}

	v6 := netip.MustParseAddr("fd09::100")
	again, _ := l.watch(us, listener, addrs[3], v6)
	assert.Equal(t, 2, l.packetSockets(us))
	require.NoError(t, theirs.Announce(addrs[3], v6))
	assert.ElementsMatch(t, []netip.Addr{addrs[3], addrs[3], v6}, []netip.Addr{(<-again).Addr, (<-again).Addr, (<-again).Addr})
	listener.Close()
	assert.Zero(t, l.packetSockets(us))
	assert.Empty(t, failed)
}

// The kernel takes the filter of as many addresses as we give it.
func TestListenerFiltersVeryManyAddresses(t *testing.T) {
	l := newLAN(t)
	us := &l.nodes[0]
	listener, failed := l.newListener(us)
	for i := range mostFiltered {
		addrs := []netip.Addr{netip.AddrFrom4([4]byte{192, 168, byte(i >> 8), byte(i)}), netip.MustParseAddr(fmt.Sprintf("fd09::ff00:%x", i))}
		l.watch(us, listener, addrs...)
	}
	assert.Empty(t, failed)
}

// packetSockets counts those of a node that receive something.
func (l *lan) packetSockets(n *node) (count int) {
	l.t.Helper()
	n.In(func() {
		b, err := os.ReadFile("/proc/thread-self/net/packet")
		require.NoError(l.t, err)
		for _, line := range strings.Split(string(b), "\n")[1:] {
			if f := strings.Fields(line); len(f) > 3 && f[3] != "0000" {
				count++
			}
		}
	})
	return count
}
