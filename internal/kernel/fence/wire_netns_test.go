//go:build netns

package fence

import (
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// wire is a holder and a client on one cable. The holder's kernel answers by itself, which is how a node behaves whose daemon is frozen.
type wire struct {
	t              *testing.T
	holder, client *netnstest.Space
	h              *link.Handle
	index          int
	mac            net.HardwareAddr
	own4, own6     netip.Addr // the holder's own
	echo4, echo6   int        // the client's raw ICMP sockets
	seq            uint16
}

var (
	vip4 = netip.MustParseAddr("10.1.0.100")
	vip6 = netip.MustParseAddr("fd01::100")
)

func newWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{t: t, client: netnstest.New(t)}
	w.echo4 = w.socket(unix.AF_INET, unix.IPPROTO_ICMP)
	w.echo6 = w.socket(unix.AF_INET6, unix.IPPROTO_ICMPV6)
	w.holder = netnstest.New(t)
	w.holder.Pair("eth0", w.client, "cl0")
	w.holder.Has("eth0", "10.1.0.5/24", "fd01::5/64", "fe80::5/64")
	w.client.Has("cl0", "10.1.0.9/24", "fd01::9/64")
	w.own4, w.own6 = netip.MustParseAddr("10.1.0.5"), netip.MustParseAddr("fe80::5")
	w.h = handle(t, slog.Default())
	w.index, w.mac = w.holder.Index("eth0"), w.holder.Link("eth0").Attrs().HardwareAddr
	for _, vip := range []netip.Addr{vip4, vip6} {
		require.NoError(t, w.h.Add(w.index, []netip.Prefix{netip.PrefixFrom(vip, vip.BitLen())}, 0))
		w.holder.Eventually(func() bool { return w.answers(vip) }, "the cable")
	}
	return w
}

func (w *wire) socket(family, protocol int) int {
	w.t.Helper()
	return w.socketOf(family, unix.SOCK_RAW, protocol)
}

func (w *wire) socketOf(family, kind, protocol int) int {
	w.t.Helper()
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// handle opens a connection for the addresses, in the namespace the test is in.
func handle(t *testing.T, log *slog.Logger) *link.Handle {
	t.Helper()
	h, err := link.Open(log)
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// fence is what is tested, with one group a family.
func (w *wire) fence(lease, guard time.Duration) *linkFence {
	w.t.Helper()
	f, err := open(w.index, "eth0", testMark, nil)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, f.remove()) })
	require.NoError(w.t, f.set([]Group{
		{ID: 4, Addresses: []netip.Addr{vip4}, Advert: Advert{Source: w.own4, VRID: 51}, Lease: lease, Guard: guard},
		{ID: 6, Addresses: []netip.Addr{vip6}, Advert: Advert{Source: w.own6, VRID: 51}, Lease: lease, Guard: guard},
	}))
	return f
}

// dies is what becomes of a fence whose process is gone.
func (f *linkFence) dies() { f.kernel.socket.close() }

// onAnOlderKernel is for a test of what others do to tables that nobody owns (Linux 6.9).
func onAnOlderKernel(t *testing.T) {
	nfttables.Older(true)
	t.Cleanup(func() { nfttables.Older(false) })
}

// long is a lease, and half of a guard, that no test outlives.
const long = 60 * time.Second

// lapse lets the kernel end the leases of groups.
func (w *wire) lapse(f *linkFence, ids ...uint32) {
	w.t.Helper()
	for _, id := range ids {
		if err := f.renew(id, time.Now().Add(20*time.Millisecond)); err != nil {
			require.ErrorIs(w.t, err, errLate, "this machine stood still: it has ended already")
		}
	}
	w.over(f, ids...)
}

// over waits until the kernel says that the leases of groups are over.
func (w *wire) over(f *linkFence, ids ...uint32) {
	w.t.Helper()
	for _, id := range ids {
		w.holder.Eventually(func() bool { return w.left(f, id) == 0 }, "the end of the lease")
	}
}

// left is what the kernel has left of a lease.
func (w *wire) left(f *linkFence, id uint32) time.Duration {
	w.t.Helper()
	left, err := f.leaseLeft(id)
	require.NoError(w.t, err)
	return left
}

// leases gives both groups another lease, from the next renewal on.
func (w *wire) leases(f *linkFence, lease time.Duration) {
	w.t.Helper()
	groups := sorted(f.want.groups)
	for i := range groups {
		groups[i].Lease = lease
	}
	require.NoError(w.t, f.set(groups))
}

// advertise sends what matters of an advertisement from the holder.
func (w *wire) advertise(source netip.Addr, vrid, priority byte) {
	w.t.Helper()
	family, group := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Addr: [4]byte{224, 0, 0, 18}})
	from := unix.Sockaddr(&unix.SockaddrInet4{Addr: [4]byte(source.AsSlice()[:4])})
	if source.Is6() {
		family, group = unix.AF_INET6, &unix.SockaddrInet6{Addr: [16]byte{0: 0xff, 1: 2, 15: 0x12}, ZoneId: uint32(w.index)}
		from = &unix.SockaddrInet6{Addr: source.As16(), ZoneId: uint32(w.index)}
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, vrrp)
	require.NoError(w.t, err)
	defer func() { _ = unix.Close(fd) }()
	require.NoError(w.t, unix.Bind(fd, from))
	require.NoError(w.t, unix.BindToDevice(fd, "eth0"))
	require.NoError(w.t, unix.Sendto(fd, []byte{0x31, vrid, priority, 0, 0, 10, 0, 0}, 0, group))
}

func (w *wire) advertiseBoth() {
	w.t.Helper()
	w.advertise(w.own4, 51, 100)
	w.advertise(w.own6, 51, 100)
}

// answers pings the address from the client, with the holder's MAC known already.
func (w *wire) answers(addr netip.Addr) bool {
	w.t.Helper()
	w.knows(addr)
	return w.ping(addr, 30*time.Millisecond)
}

func (w *wire) ping(addr netip.Addr, wait time.Duration) bool {
	w.t.Helper()
	w.seq++
	msg := []byte{8, 0, 0, 0, 0x4b, 0x56, 0, 0}
	binary.BigEndian.PutUint16(msg[6:], w.seq)
	fd, offset := w.echo4, 20
	var to unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte(addr.AsSlice()[:4])}
	if addr.Is6() {
		msg[0], fd, offset = 128, w.echo6, 0
		to = &unix.SockaddrInet6{Addr: addr.As16()}
	} else {
		var sum uint32
		for i := 0; i < len(msg); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(msg[i:]))
		}
		binary.BigEndian.PutUint16(msg[2:], ^uint16(sum+sum>>16))
	}
	require.NoError(w.t, unix.Sendto(fd, msg, 0, to))
	deadline := time.Now().Add(wait)
	buf := make([]byte, 256)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		tv := unix.NsecToTimeval(max(left, time.Microsecond).Nanoseconds())
		require.NoError(w.t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv))
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err != nil || n < offset+8 {
			continue
		}
		if reply := buf[offset:]; (reply[0] == 0 || reply[0] == 129) && binary.BigEndian.Uint16(reply[6:]) == w.seq {
			return true
		}
	}
}

func (w *wire) neigh(addr netip.Addr) *netlink.Neigh {
	return &netlink.Neigh{LinkIndex: w.client.Index("cl0"), State: netlink.NUD_PERMANENT, IP: addr.AsSlice(), HardwareAddr: w.mac}
}

func (w *wire) knows(addr netip.Addr) {
	w.t.Helper()
	require.NoError(w.t, w.client.NeighSet(w.neigh(addr)))
}

// resolves makes the client ask who has the address.
func (w *wire) resolves(addr netip.Addr) bool {
	w.t.Helper()
	_ = w.client.NeighDel(w.neigh(addr))
	w.ping(addr, 30*time.Millisecond)
	family := netlink.FAMILY_V4
	if addr.Is6() {
		family = netlink.FAMILY_V6
	}
	list, err := w.client.NeighList(w.client.Index("cl0"), family)
	require.NoError(w.t, err)
	for _, n := range list {
		if n.IP.Equal(addr.AsSlice()) {
			return n.State&(netlink.NUD_REACHABLE|netlink.NUD_STALE|netlink.NUD_DELAY|netlink.NUD_PROBE) != 0
		}
	}
	return false
}

func (w *wire) all(want bool, when string) {
	w.t.Helper()
	ask := func(how func(netip.Addr) bool, addr netip.Addr) bool {
		if want {
			return w.does(how, addr)
		}
		return how(addr)
	}
	for _, vip := range []netip.Addr{vip4, vip6} {
		assert.Equal(w.t, want, ask(w.answers, vip), "%s: ping of %s", when, vip)
		assert.Equal(w.t, want, ask(w.resolves, vip), "%s: resolution of %s", when, vip)
	}
	assert.True(w.t, w.does(w.answers, w.own4), "%s: the node's own address", when)
	assert.True(w.t, w.does(w.resolves, w.own4), "%s: resolution of the node's own address", when)
}

// does asks a few times: a busy machine may be late with an answer, but has none to give where there should be none.
func (w *wire) does(how func(netip.Addr) bool, addr netip.Addr) bool {
	w.t.Helper()
	for range 10 {
		if how(addr) {
			return true
		}
	}
	return false
}

func htons(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}
