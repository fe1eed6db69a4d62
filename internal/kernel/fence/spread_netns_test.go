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

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

const (
	spreadPort = 6443
	otherPort  = 6444
)

// spreading is a fence whose groups have a spread port, on a node that knows its client: what it may not do is ask who that is in the address's
// name.
func (w *wire) spreading(lease, guard time.Duration) *linkFence {
	w.t.Helper()
	f := w.fence(lease, guard)
	groups := sorted(f.want.groups)
	for i := range groups {
		groups[i].Spread = Spread{Ports: []Port{{Protocol: unix.IPPROTO_TCP, Number: spreadPort}}, Until: time.Now().Add(time.Minute)}
	}
	require.NoError(w.t, f.set(groups))
	for _, client := range []string{"10.1.0.9", "fd01::9"} {
		require.NoError(w.t, w.holder.NeighSet(&netlink.Neigh{
			LinkIndex: w.index, IP: netip.MustParseAddr(client).AsSlice(), State: netlink.NUD_PERMANENT,
			HardwareAddr: w.client.Link("cl0").Attrs().HardwareAddr,
		}))
	}
	for _, port := range []uint16{spreadPort, otherPort} {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{Port: int(port)})
		require.NoError(w.t, err)
		w.t.Cleanup(func() { _ = l.Close() })
	}
	return f
}

// connects opens a connection from the client, which has the holder's MAC from before.
func (w *wire) connects(addr netip.Addr, port uint16, wait time.Duration) bool {
	w.t.Helper()
	w.knows(addr)
	w.client.Enter()
	defer w.holder.Enter()
	c, err := net.DialTimeout("tcp", netip.AddrPortFrom(addr, port).String(), wait)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// spreads looks at both addresses: the spread port as wanted, and all else silent.
func (w *wire) spreads(want bool, when string) {
	w.t.Helper()
	for _, vip := range []netip.Addr{vip4, vip6} {
		wait := netnstest.Patience
		if !want {
			wait = 50 * time.Millisecond
		}
		assert.Equal(w.t, want, w.connects(vip, spreadPort, wait), "%s: %s, the spread port", when, vip)
		assert.False(w.t, w.connects(vip, otherPort, 50*time.Millisecond), "%s: %s, another port", when, vip)
		assert.False(w.t, w.answers(vip), "%s: ping of %s", when, vip)
		assert.False(w.t, w.resolves(vip), "%s: resolution of %s", when, vip)
	}
}

// TestFenceLetsSpreadPortsPassAndNothingElse: what each member serves goes on whatever becomes of the lease, and a node that has none still tells
// nobody where the address is.
func TestFenceLetsSpreadPortsPassAndNothingElse(t *testing.T) {
	w := newWire(t)
	f := w.spreading(200*time.Millisecond, 60*time.Second)
	require.NoError(t, f.verify())
	require.NoError(t, f.standBy(4, 6))
	w.spreads(true, "on standby, bound without a lease")
	require.NoError(t, f.hold(4, 6))
	w.spreads(true, "held without a lease")
	for _, id := range []uint32{4, 6} {
		require.NoError(t, f.shut(id, discovery|inward|outward))
	}
	w.spreads(true, "shut")
	require.NoError(t, f.rebuild(nil))
	require.NoError(t, f.verify())
	w.spreads(true, "built anew")

	groups := sorted(f.want.groups)
	without := slices.Clone(groups)
	for i := range without {
		without[i].Spread = Spread{}
	}
	require.NoError(t, f.set(without))
	require.NoError(t, f.verify())
	w.spreads(false, "nothing is spread any more")
	require.NoError(t, f.set(groups))
	require.NoError(t, f.verify())
	w.spreads(true, "spread again")
}

// TestFenceOfSpreadPortsClosesByItself: where nobody translates any more, a socket on the address itself would answer.
func TestFenceOfSpreadPortsClosesByItself(t *testing.T) {
	w := newWire(t)
	f := w.spreading(200*time.Millisecond, 60*time.Second)
	require.NoError(t, f.hold(4, 6))
	for _, id := range []uint32{4, 6} {
		require.NoError(t, f.spreadUntil(id, time.Now().Add(50*time.Millisecond)))
	}
	w.holder.Eventually(func() bool {
		return !w.connects(vip4, spreadPort, 50*time.Millisecond) && !w.connects(vip6, spreadPort, 50*time.Millisecond)
	}, "the end of the spread ports")
	w.spreads(false, "over")
	require.NoError(t, f.verify(), "an end that had to come is not broken")
	require.NoError(t, f.spreadUntil(4, time.Now().Add(time.Minute)))
	require.NoError(t, f.spreadUntil(6, time.Now().Add(time.Minute)))
	w.spreads(true, "renewed")
	require.NoError(t, f.spreadUntil(4, time.Time{}))
	require.NoError(t, f.spreadUntil(6, time.Time{}))
	w.spreads(false, "ended")

	groups := sorted(f.want.groups)
	for i := range groups {
		groups[i].Spread.Ports[0].Ends = time.Now().Add(time.Minute)
	}
	require.NoError(t, f.set(groups))
	w.spreads(true, "a port that ends by itself")
	for i := range groups {
		groups[i].Spread.Ports = []Port{{Protocol: unix.IPPROTO_TCP, Number: spreadPort, Ends: time.Now().Add(50 * time.Millisecond)}}
		groups[i].Spread.Until = time.Now().Add(time.Minute)
	}
	require.NoError(t, f.set(groups))
	w.holder.Eventually(func() bool {
		return !w.connects(vip4, spreadPort, 50*time.Millisecond) && !w.connects(vip6, spreadPort, 50*time.Millisecond)
	}, "the end of the port, whatever there is for the others")
	require.NoError(t, f.spreadUntil(4, time.Now().Add(time.Minute)))
	w.spreads(false, "nobody renews it")
	require.NoError(t, f.verify())
}

// TestFenceLetsMembersAnswerInTheNameOfAnAddressThatTheyDoNotHave sends what translation makes of a member's answer.
func TestFenceLetsMembersAnswerInTheNameOfAnAddressThatTheyDoNotHave(t *testing.T) {
	w := newWire(t)
	f := w.spreading(200*time.Millisecond, 60*time.Second)
	for _, vip := range []netip.Addr{vip4, vip6} {
		require.NoError(t, w.h.Remove(w.index, netip.PrefixFrom(vip, vip.BitLen())))
	}
	require.NoError(t, f.standBy(4, 6))
	fd := w.socketOf(unix.AF_PACKET, unix.SOCK_RAW, 0)
	says := func(port uint16) error {
		frame := slices.Concat(w.client.Link("cl0").Attrs().HardwareAddr, w.mac,
			[]byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, unix.IPPROTO_TCP, 64}, vip6.AsSlice(), netip.MustParseAddr("fd01::9").AsSlice(),
			[]byte{byte(port >> 8), byte(port), 0x4e, 0x20, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0})
		return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: w.index, Protocol: htons(unix.ETH_P_IPV6)})
	}
	assert.NoError(t, says(spreadPort), "what a member says")
	assert.ErrorIs(t, says(otherPort), unix.ENOBUFS, "what a connection of an address that is gone goes on saying")
	require.NoError(t, f.spreadUntil(6, time.Time{}))
	assert.ErrorIs(t, says(spreadPort), unix.ENOBUFS, "nothing is translated any more")
}

// TestFenceOfSpreadPortsIsReadableByOthers: some rules that the kernel takes make nft abort.
func TestFenceOfSpreadPortsIsReadableByOthers(t *testing.T) {
	w := newWire(t)
	w.spreading(time.Minute, time.Hour)
	out := listing(t)
	assert.Contains(t, out, "@spread4 accept")
	assert.Contains(t, out, `"eth0" . tcp . 6443 timeout `)
}
