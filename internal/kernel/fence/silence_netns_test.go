//go:build netns

package fence

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// frames counts what arrives at the client with one of the addresses as sender, source or target, until the time is over.
func (w *wire) frames(during time.Duration, addrs ...netip.Addr) int {
	w.t.Helper()
	w.client.Enter()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(htons(unix.ETH_P_ALL)))
	require.NoError(w.t, err)
	w.holder.Enter()
	defer func() { _ = unix.Close(fd) }()
	n, buf := 0, make([]byte, 2048)
	for end := time.Now().Add(during); time.Now().Before(end); {
		tv := unix.NsecToTimeval(int64(10 * time.Millisecond))
		require.NoError(w.t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv))
		size, from, err := unix.Recvfrom(fd, buf, 0)
		if err != nil || from.(*unix.SockaddrLinklayer).Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		if slices.ContainsFunc(addrs, func(a netip.Addr) bool { return names(buf[:size], a) }) {
			n++
		}
	}
	return n
}

// says waits until the client hears a frame with one of the addresses.
func (w *wire) says(when string, addrs ...netip.Addr) {
	w.t.Helper()
	w.holder.Eventually(func() bool { return w.frames(50*time.Millisecond, addrs...) > 0 }, when)
}

// names reports whether an Ethernet frame has the address where a fenced node must not say it: sender of ARP, source of IP, target of discovery.
func names(frame []byte, a netip.Addr) bool {
	return slices.ContainsFunc([]int{14 + 14, 14 + 12, 14 + 8, 14 + 40 + 8}, func(at int) bool {
		needle := a.AsSlice()
		return at+len(needle) <= len(frame) && slices.Equal(frame[at:at+len(needle)], needle)
	})
}

// TestFenceFrozenNodeFallsSilent leaves connections with unsent data to the kernel, which goes on retransmitting, and resolving the client,
// whatever has become of the daemon.
func TestFenceFrozenNodeFallsSilent(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	require.NoError(t, f.hold(4, 6))
	w.advertiseBoth()
	for _, vip := range []netip.Addr{vip4, vip6} {
		w.stream(vip)
	}
	for _, vip := range []netip.Addr{vip4, vip6} {
		w.says("frames while the lease lasts", vip)
	}
	w.leases(f, 300*time.Millisecond)
	w.advertiseBoth()
	w.over(f, 4, 6)
	assert.Zero(t, w.frames(time.Second, vip4, vip6), "frames after the lease")
	for _, client := range []string{"10.1.0.9", "fd01::9"} {
		require.NoError(t, w.holder.NeighDel(&netlink.Neigh{LinkIndex: w.index, IP: netip.MustParseAddr(client).AsSlice()}))
	}
	assert.Zero(t, w.frames(1500*time.Millisecond, vip4, vip6), "frames after the lease, with the client to be resolved anew")
	for _, vip := range []netip.Addr{vip4, vip6} {
		w.holder.Eventually(func() bool { w.advertiseBoth(); return w.answers(vip) }, "an answer with a lease again")
	}
}

// stream opens a connection from the client to the address, and writes into it without end. It returns how the client's end ended.
func (w *wire) stream(vip netip.Addr) <-chan error {
	w.t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(vip, 6443).String())
	require.NoError(w.t, err)
	defer func() { _ = l.Close() }()
	w.client.Enter()
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(w.t, err)
	w.holder.Enter()
	server, err := l.Accept()
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	go func() { _, _ = io.Copy(server, endless{}) }()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, client)
		ended <- err
	}()
	return ended
}

// TestFenceSilencesConnectionsOfAnAddressThatIsGone: after the guard too, and only until the address is there again.
func TestFenceSilencesConnectionsOfAnAddressThatIsGone(t *testing.T) {
	w := newWire(t)
	f := w.fence(200*time.Millisecond, 400*time.Millisecond)
	for id, vip := range map[uint32]netip.Addr{4: vip4, 6: vip6} {
		require.NoError(t, f.hold(id))
		w.advertiseBoth()
		w.stream(vip)
		w.says("frames while it is there", vip)
		require.NoError(t, w.h.Remove(w.index, netip.PrefixFrom(vip, vip.BitLen())))
		assert.Zero(t, w.frames(2*time.Second, vip), "%s is gone", vip)
		require.NoError(t, w.h.Add(w.index, []netip.Prefix{netip.PrefixFrom(vip, vip.BitLen())}, 0))
		w.holder.Eventually(func() bool { return w.answers(vip) }, "an answer after somebody has added it")
	}
}

// TestFenceLetsProbesLeave: who does not have the address may ask for it, in nobody's name (RFC 5227 2.1.1, RFC 4862 5.4.2).
func TestFenceLetsProbesLeave(t *testing.T) {
	w := newWire(t)
	w.fence(200*time.Millisecond, 400*time.Millisecond)
	fd := w.socketOf(unix.AF_PACKET, unix.SOCK_RAW, 0)
	for _, vip := range []netip.Addr{vip4, vip6} {
		require.NoError(t, w.h.Remove(w.index, netip.PrefixFrom(vip, vip.BitLen())))
	}
	group := netip.MustParseAddr("ff02::1:ff00:100")
	solicitation := slices.Concat([]byte{0x33, 0x33, 0xff, 0, 1, 0}, w.mac, []byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, icmpv6, 255}, netip.IPv6Unspecified().AsSlice(), group.AsSlice(),
		[]byte{neighborSolicitation, 0, 0, 0, 0, 0, 0, 0}, vip6.AsSlice())
	assert.NoError(t, unix.Sendto(fd, solicitation, 0, &unix.SockaddrLinklayer{Ifindex: w.index, Protocol: htons(unix.ETH_P_IPV6)}))
	probe := slices.Concat([]byte{255, 255, 255, 255, 255, 255}, w.mac, []byte{8, 6, 0, 1, 8, 0, 6, 4, 0, 1}, w.mac, []byte{0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 0}, vip4.AsSlice())
	assert.NoError(t, unix.Sendto(fd, probe, 0, &unix.SockaddrLinklayer{Ifindex: w.index, Protocol: htons(unix.ETH_P_ARP)}))
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// TestFenceLetsResetsLeave: what comes in is shut first, so that the client cannot go on. It is told even if all else is shut by then, and the
// lease is over.
func TestFenceLetsResetsLeave(t *testing.T) {
	for name, late := range map[string]func(w *wire, f *linkFence, id uint32){
		"at once":                     func(*wire, *linkFence, uint32) {},
		"after all else is shut, too": func(_ *wire, f *linkFence, id uint32) { require.NoError(t, f.shut(id, outward)) },
		"after the lease": func(w *wire, f *linkFence, id uint32) {
			require.NoError(t, f.shut(id, outward))
			w.lapse(f, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t)
			f := w.fence(long, 2*long)
			for id, vip := range map[uint32]netip.Addr{4: vip4, 6: vip6} {
				require.NoError(t, f.hold(id))
				w.advertiseBoth()
				ended := w.stream(vip)
				require.NoError(t, f.shut(id, inward))
				late(w, f, id)
				n, err := link.ResetTCP(t.Context(), vip)
				require.NoError(t, err)
				assert.Equal(t, 1, n)
				select {
				case err := <-ended:
					assert.ErrorIs(t, err, unix.ECONNRESET)
				case <-time.After(netnstest.Patience):
					assert.Fail(t, "not told", "the client of %s", vip)
				}
			}
		})
	}
}

// TestFenceStopsAnnouncementsOfALateDaemon sends a gratuitous ARP as a woken daemon would, before it has looked around.
func TestFenceStopsAnnouncementsOfALateDaemon(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	require.NoError(t, f.hold(4))
	fd := w.socketOf(unix.AF_PACKET, unix.SOCK_RAW, 0)
	mac := w.mac
	frame := slices.Concat([]byte{255, 255, 255, 255, 255, 255}, mac, []byte{8, 6, 0, 1, 8, 0, 6, 4, 0, 1}, mac, vip4.AsSlice(), []byte{255, 255, 255, 255, 255, 255}, vip4.AsSlice())
	announce := func(want error) string {
		foreign := w.neigh(vip4)
		foreign.State, foreign.HardwareAddr = netlink.NUD_REACHABLE, net.HardwareAddr{2, 0, 0, 0, 0, 9}
		require.NoError(t, w.client.NeighSet(foreign))
		require.ErrorIs(t, unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: w.index, Protocol: htons(unix.ETH_P_ARP)}), want)
		list, err := w.client.NeighList(w.client.Index("cl0"), netlink.FAMILY_V4)
		require.NoError(t, err)
		for _, n := range list {
			if n.IP.Equal(vip4.AsSlice()) {
				return n.HardwareAddr.String()
			}
		}
		return "nobody"
	}
	w.advertise(w.own4, 51, 100)
	assert.Equal(t, mac.String(), announce(nil), "with a lease")
	w.lapse(f, 4)
	assert.Equal(t, "02:00:00:00:00:09", announce(unix.ENOBUFS), "without, and the sender is told")
}

// TestFenceEachDirectionSuffices takes one of the two hooks away at a time: each keeps the node silent by itself.
func TestFenceEachDirectionSuffices(t *testing.T) {
	onAnOlderKernel(t)
	for _, without := range []string{chainIngress, chainEgress} {
		w := newWire(t)
		f := w.fence(200*time.Millisecond, 60*time.Second)
		c, err := nftables.New()
		require.NoError(t, err)
		c.FlushChain(f.kernel.tables.link.chain(without))
		require.NoError(t, c.Flush())
		require.NoError(t, f.hold(4))
		require.NoError(t, f.hold(6))
		w.all(false, "without "+without)
	}
}

// TestFenceSilentNodeDoesNotAskInTheAddressesName: while the address is passed on, a question from it would pull the asked client back.
func TestFenceSilentNodeDoesNotAskInTheAddressesName(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	clients := map[netip.Addr]netip.Addr{vip4: netip.MustParseAddr("10.1.0.9"), vip6: netip.MustParseAddr("fd01::9")}
	for vip, client := range clients {
		forget := func() {
			_ = w.holder.NeighDel(&netlink.Neigh{LinkIndex: w.index, IP: client.AsSlice()})
		}
		id := uint32(4)
		if vip.Is6() {
			id = 6
		}
		require.NoError(t, f.hold(id))
		w.advertiseBoth()
		forget()
		assert.True(t, w.does(w.answers, vip), "%s asks for its client", vip)
		require.NoError(t, f.shut(id, discovery))
		assert.True(t, w.does(w.answers, vip), "%s knows its client", vip)
		forget()
		assert.False(t, w.answers(vip), "%s must not ask", vip)
	}
}

// TestFenceStopsAdvertisementsByTarget sends a neighbour advertisement for the address from another address of the node.
func TestFenceStopsAdvertisementsByTarget(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	fd := w.socketOf(unix.AF_PACKET, unix.SOCK_RAW, 0)
	group := netip.MustParseAddr("ff02::1")
	frame := slices.Concat([]byte{0x33, 0x33, 0, 0, 0, 1}, w.mac, []byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, icmpv6, 255}, w.own6.AsSlice(), group.AsSlice(),
		[]byte{neighborAdvertisement, 0, 0, 0, 0x20, 0, 0, 0}, vip6.AsSlice())
	send := func() error {
		return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: w.index, Protocol: htons(unix.ETH_P_IPV6)})
	}
	require.NoError(t, send(), "no guard")
	require.NoError(t, f.hold(6))
	require.ErrorIs(t, send(), unix.ENOBUFS, "no lease")
	frame[54] = neighborSolicitation
	require.NoError(t, send(), "a solicitation that names it, as a client on this node sends")
	copy(frame[22:], netip.IPv6Unspecified().AsSlice())
	require.ErrorIs(t, send(), unix.ENOBUFS, "a probe")
	frame[54] = 134
	require.NoError(t, send(), "a router advertisement")
}
