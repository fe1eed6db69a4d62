//go:build netns

package link

import (
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// wire is a holder and a client on one cable. The holder's kernel answers by itself, which is how a node behaves whose daemon is frozen.
type wire struct {
	t              *testing.T
	holder, client *space
	h              *Handle
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
	w := &wire{t: t, client: newSpace(t)}
	w.echo4 = w.socket(unix.AF_INET, unix.IPPROTO_ICMP)
	w.echo6 = w.socket(unix.AF_INET6, unix.IPPROTO_ICMPV6)
	w.holder = newSpace(t)
	w.holder.pair("eth0", w.client, "cl0")
	w.holder.has("eth0", "10.1.0.5/24", "fd01::5/64", "fe80::5/64")
	w.client.has("cl0", "10.1.0.9/24", "fd01::9/64")
	w.own4, w.own6 = netip.MustParseAddr("10.1.0.5"), netip.MustParseAddr("fe80::5")
	w.h = w.holder.handle(slog.Default())
	w.index, w.mac = w.holder.index("eth0"), w.holder.link("eth0").Attrs().HardwareAddr
	for _, vip := range []netip.Addr{vip4, vip6} {
		require.NoError(t, w.h.Add(w.index, netip.PrefixFrom(vip, vip.BitLen()), 0))
		w.holder.eventually(func() bool { return w.answers(vip) }, "the cable")
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

// fence is what is tested, with one group a family.
func (w *wire) fence(lease, guard time.Duration) *Fence {
	w.t.Helper()
	f, err := OpenFence(FenceConfig{Index: w.index, Name: "eth0"})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, f.Remove()) })
	require.NoError(w.t, f.Set([]Group{
		{ID: 4, Addresses: []netip.Addr{vip4}, Advert: Advert{Source: w.own4, VRID: 51}, Lease: lease, Guard: guard},
		{ID: 6, Addresses: []netip.Addr{vip6}, Advert: Advert{Source: w.own6, VRID: 51}, Lease: lease, Guard: guard},
	}))
	return f
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
	return &netlink.Neigh{LinkIndex: w.client.index("cl0"), State: netlink.NUD_PERMANENT, IP: addr.AsSlice(), HardwareAddr: w.mac}
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
	list, err := w.client.NeighList(w.client.index("cl0"), family)
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
	for _, vip := range []netip.Addr{vip4, vip6} {
		assert.Equal(w.t, want, w.answers(vip), "%s: ping of %s", when, vip)
		assert.Equal(w.t, want, w.resolves(vip), "%s: resolution of %s", when, vip)
	}
	assert.True(w.t, w.answers(w.own4), "%s: the node's own address", when)
	assert.True(w.t, w.resolves(w.own4), "%s: resolution of the node's own address", when)
}

func TestFenceWithoutGuardIsInert(t *testing.T) {
	w := newWire(t)
	w.all(true, "no fence")
	f := w.fence(200*time.Millisecond, 60*time.Second)
	w.all(true, "a fence, but no tenure")
	require.NoError(t, f.Hold(4))
	require.NoError(t, f.Hold(6))
	w.all(false, "a tenure without a lease")
	require.NoError(t, f.Release(4))
	require.NoError(t, f.Release(6))
	w.all(true, "the tenure is over")
}

func TestFenceLeaseFollowsTheAdvertisement(t *testing.T) {
	w := newWire(t)
	const lease = 200 * time.Millisecond
	f := w.fence(lease, 60*time.Second)
	require.True(t, f.Egress())
	require.NoError(t, f.Hold(4))
	require.NoError(t, f.Hold(6))
	for round := range 2 {
		for _, vip := range []netip.Addr{vip4, vip6} {
			own := w.own4
			if vip.Is6() {
				own = w.own6
			}
			for range 6 {
				w.advertise(own, 51, 100)
				require.True(t, w.answers(vip), "%s while advertising", vip)
				time.Sleep(lease / 4)
			}
			before := time.Now()
			w.advertise(own, 51, 100)
			after := time.Now()
			last := after
			for time.Since(after) < lease+lease/2 {
				if at := time.Now(); w.ping(vip, 2*time.Millisecond) {
					last = at
				}
			}
			t.Logf("round %d, %s: answered until %s after the last advertisement, the lease is %s", round, vip, last.Sub(before), lease)
			assert.Less(t, last.Sub(after), lease+20*time.Millisecond)
			assert.Greater(t, last.Sub(before), lease/2)
		}
	}
	w.all(false, "after the lease")
}

func TestFenceOnlyOurAdvertisementRenews(t *testing.T) {
	w := newWire(t)
	w.holder.has("eth0", "10.1.0.6/24")
	f := w.fence(2*time.Second, 60*time.Second)
	require.NoError(t, f.Hold(4))
	require.NoError(t, f.Hold(6))
	other := netip.MustParseAddr("10.1.0.6")
	for name, advert := range map[string]func(){
		"priority 0":         func() { w.advertise(w.own4, 51, 0); w.advertise(w.own6, 51, 0) },
		"another VRID":       func() { w.advertise(w.own4, 52, 100); w.advertise(w.own6, 52, 100) },
		"another source":     func() { w.advertise(other, 51, 100) },
		"another family's":   func() {},
		"nothing renews yet": func() {},
	} {
		advert()
		w.all(false, name)
	}
	w.advertise(w.own4, 51, 1)
	assert.True(t, w.answers(vip4))
	assert.False(t, w.answers(vip6), "each family has its own")
	w.advertise(w.own6, 51, 255)
	w.all(true, "both")
}

func TestFenceOpensByItselfWhenTheGuardIsOver(t *testing.T) {
	w := newWire(t)
	f := w.fence(50*time.Millisecond, 400*time.Millisecond)
	require.NoError(t, f.Hold(4))
	require.NoError(t, f.Hold(6))
	start := time.Now()
	require.NoError(t, f.Shut(4, Discovery|In|Out))
	assert.False(t, w.answers(vip4))
	for !w.ping(vip4, 5*time.Millisecond) {
		require.Less(t, time.Since(start), patience)
		w.advertise(w.own4, 51, 100) // renews the lease and not the guard: whoever runs VRRP here after us must not be locked out in turns
	}
	t.Logf("answers again %s after Shut, the guard is 400 ms", time.Since(start))
	w.holder.eventually(func() bool { return w.answers(vip6) }, "IPv6 again")
	w.all(true, "after the guard")
	assert.ErrorIs(t, f.Check(), ErrBroken, "a tenure that nobody went on with")
}

func TestFenceShutParts(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	require.NoError(t, f.Hold(4))
	require.NoError(t, f.Hold(6))
	w.advertiseBoth()
	w.all(true, "open")
	shut := func(p Part) {
		require.NoError(t, f.Shut(4, p))
		require.NoError(t, f.Shut(6, p))
	}
	shut(Discovery)
	for _, vip := range []netip.Addr{vip4, vip6} {
		assert.False(t, w.resolves(vip), "%s is silent", vip)
		assert.True(t, w.answers(vip), "%s still forwards", vip)
	}
	shut(In)
	for _, vip := range []netip.Addr{vip4, vip6} {
		assert.False(t, w.answers(vip))
	}
	w.advertiseBoth()
	w.all(false, "an advertisement does not open what is shut")
	require.NoError(t, f.Reopen(4))
	require.NoError(t, f.Reopen(6))
	w.all(true, "reopened")
	shut(Out)
	for _, vip := range []netip.Addr{vip4, vip6} {
		assert.False(t, w.answers(vip))
		assert.False(t, w.resolves(vip))
	}
	require.NoError(t, f.Release(4))
	require.NoError(t, f.Hold(4))
	assert.True(t, w.answers(vip4), "a new tenure begins open")
}

func TestFenceRenewByTransaction(t *testing.T) {
	w := newWire(t)
	f := w.fence(300*time.Millisecond, 60*time.Second)
	require.NoError(t, f.Hold(4))
	assert.False(t, w.answers(vip4))
	for range 10 {
		require.NoError(t, f.Renew(4, time.Now().Add(time.Minute)))
		require.True(t, w.answers(vip4))
		time.Sleep(50 * time.Millisecond)
	}
	start := time.Now()
	require.NoError(t, f.Renew(4, start.Add(100*time.Millisecond)))
	last := start
	for time.Since(start) < 250*time.Millisecond {
		if at := time.Now(); w.ping(vip4, 2*time.Millisecond) {
			last = at
		}
	}
	assert.Less(t, last.Sub(start), 150*time.Millisecond, "until is the end, and not the whole lease")
	require.NoError(t, f.Renew(4, time.Now().Add(time.Minute)))
	assert.True(t, w.answers(vip4))
	require.ErrorIs(t, f.Renew(4, time.Now().Add(-time.Second)), ErrLate)
	assert.False(t, w.answers(vip4), "who is late has no lease")
	require.ErrorIs(t, f.Renew(4, time.Now().Add(-time.Second)), ErrLate)
	assert.Error(t, f.Renew(5, time.Now().Add(time.Second)), "no such group")
}

func TestFenceCheckAndRebuild(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	require.NoError(t, f.Hold(4))
	require.NoError(t, f.Hold(6))
	w.advertiseBoth()
	require.NoError(t, f.Check())
	damage := map[string]func(c *nftables.Conn){
		"ruleset flushed": func(c *nftables.Conn) { c.FlushRuleset() },
		"table deleted":   func(c *nftables.Conn) { c.DelTable(f.table) },
		"rules flushed":   func(c *nftables.Conn) { c.FlushChain(f.chain(chainIngress)) },
		"group flushed":   func(c *nftables.Conn) { c.FlushChain(f.chain(chainOf(6))) },
		"adverts flushed": func(c *nftables.Conn) { c.FlushChain(f.chain(chainAdverts)) },
		"guard flushed":   func(c *nftables.Conn) { c.FlushSet(f.timer(guardOf(4))) },
		"addresses gone":  func(c *nftables.Conn) { c.FlushSet(f.addresses(mapAddresses6)) },
	}
	for name, do := range damage {
		c, err := nftables.New()
		require.NoError(t, err)
		do(c)
		require.NoError(t, c.Flush())
		require.ErrorIs(t, f.Check(), ErrBroken, name)
		require.NoError(t, f.Rebuild(), name)
		require.NoError(t, f.Check(), name)
	}
	w.all(true, "rebuilt, with a lease")
	require.NoError(t, f.Shut(4, In))
	assert.False(t, w.answers(vip4))

	w.holder.ip("link set eth0 down")
	w.holder.ip("link set eth0 name lan0")
	w.holder.ip("link set lan0 up")
	require.ErrorIs(t, f.Check(), ErrBroken)
	require.NoError(t, f.Rebuild())
	require.NoError(t, f.Check())
	assert.False(t, w.answers(vip4), "what was shut stays shut")
	require.NoError(t, f.Reopen(4))
	assert.True(t, w.answers(vip4))
	w.holder.ip("link del lan0")
	require.ErrorIs(t, f.Check(), ErrGone)
	require.ErrorIs(t, f.Rebuild(), ErrGone)
}

// TestFenceIsReadableByOthers: administrators list the rules, and save and load the listing. Some rules that the kernel takes make nft abort.
func TestFenceIsReadableByOthers(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	list := func() string {
		out, err := exec.Command("nft", "list", "ruleset").CombinedOutput()
		require.NoError(t, err, "%s", out)
		return regexp.MustCompile(` expires [0-9a-z]+`).ReplaceAllString(string(out), "")
	}
	require.NoError(t, f.Hold(4))
	require.NoError(t, f.Shut(6, Discovery|In|Out))
	w.advertiseBoth()
	both := list()
	t.Log(both)
	assert.Contains(t, both, "10.1.0.100 : jump group4")
	assert.Contains(t, both, "fd01::100 : jump group6")

	// nft before 1.0.7 cannot read back what it prints for the target of a solicitation.
	require.NoError(t, f.Set([]Group{{ID: 4, Addresses: []netip.Addr{vip4}, Advert: Advert{Source: w.own4, VRID: 51}, Lease: time.Minute, Guard: time.Hour}}))
	require.NoError(t, f.Shut(4, Discovery|In|Out))
	before := list()
	require.NoError(t, f.Remove())
	load := exec.Command("nft", "-f", "-")
	load.Stdin = strings.NewReader(before)
	out, err := load.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, before, list())
}

func TestCleanupFencesLeavesOthersAlone(t *testing.T) {
	w := newWire(t)
	for range 2 {
		f, err := OpenFence(FenceConfig{Index: w.index, Name: "eth0"})
		require.NoError(t, err, "in place of the one of an earlier run")
		require.NoError(t, f.Check())
	}
	c, err := nftables.New()
	require.NoError(t, err)
	for _, foreign := range []*nftables.Table{
		{Name: "keepvip-x", Family: nftables.TableFamilyNetdev}, {Name: "keepvip-2x", Family: nftables.TableFamilyNetdev},
		{Name: tableName(w.index), Family: nftables.TableFamilyINet}, {Name: "filter", Family: nftables.TableFamilyNetdev},
	} {
		c.AddTable(foreign)
	}
	require.NoError(t, c.Flush())
	gone, err := CleanupFences()
	require.NoError(t, err)
	assert.Equal(t, []string{tableName(w.index)}, gone)
	tables, err := c.ListTables()
	require.NoError(t, err)
	assert.Len(t, tables, 4)
	gone, err = CleanupFences()
	require.NoError(t, err)
	assert.Empty(t, gone)
}

// frames counts what arrives at the client with one of the addresses as sender, source or target, until the time is over.
func (w *wire) frames(during time.Duration, addrs ...netip.Addr) int {
	w.t.Helper()
	w.client.enter()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(htons(unix.ETH_P_ALL)))
	require.NoError(w.t, err)
	w.holder.enter()
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

// names reports whether an Ethernet frame has the address where a fenced node must not say it: sender of ARP, source of IP, target of discovery.
func names(frame []byte, a netip.Addr) bool {
	return slices.ContainsFunc([]int{14 + 14, 14 + 12, 14 + 8, 14 + 40 + 8}, func(at int) bool {
		needle := a.AsSlice()
		return at+len(needle) <= len(frame) && slices.Equal(frame[at:at+len(needle)], needle)
	})
}

func htons(v uint16) uint16 { return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v)) }

// TestFenceFrozenNodeFallsSilent leaves connections with unsent data to the kernel, which goes on retransmitting, and resolving the client,
// whatever has become of the daemon.
func TestFenceFrozenNodeFallsSilent(t *testing.T) {
	w := newWire(t)
	const lease = 300 * time.Millisecond
	f := w.fence(lease, 60*time.Second)
	require.NoError(t, f.Hold(4))
	require.NoError(t, f.Hold(6))
	w.advertiseBoth()
	for _, vip := range []netip.Addr{vip4, vip6} {
		w.stream(vip)
	}
	w.advertiseBoth()
	for _, vip := range []netip.Addr{vip4, vip6} {
		assert.NotZero(t, w.frames(lease/4, vip), "%s while the lease lasts", vip)
	}
	time.Sleep(lease)
	assert.Zero(t, w.frames(time.Second, vip4, vip6), "frames after the lease")
	for _, client := range []string{"10.1.0.9", "fd01::9"} {
		require.NoError(t, w.holder.NeighDel(&netlink.Neigh{LinkIndex: w.index, IP: netip.MustParseAddr(client).AsSlice()}))
	}
	assert.Zero(t, w.frames(1500*time.Millisecond, vip4, vip6), "frames after the lease, with the client to be resolved anew")
	for _, vip := range []netip.Addr{vip4, vip6} {
		w.holder.eventually(func() bool { w.advertiseBoth(); return w.answers(vip) }, "an answer with a lease again")
	}
}

// stream opens a connection from the client to the address, and writes into it without end.
func (w *wire) stream(vip netip.Addr) {
	w.t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(vip, 6443).String())
	require.NoError(w.t, err)
	defer func() { _ = l.Close() }()
	w.client.enter()
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(w.t, err)
	w.holder.enter()
	server, err := l.Accept()
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	go func() { _, _ = io.Copy(server, endless{}) }()
	go func() { _, _ = io.Copy(io.Discard, client) }()
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// TestFenceStopsAnnouncementsOfALateDaemon sends a gratuitous ARP as a woken daemon would, before it has looked around.
func TestFenceStopsAnnouncementsOfALateDaemon(t *testing.T) {
	w := newWire(t)
	f := w.fence(200*time.Millisecond, 60*time.Second)
	require.NoError(t, f.Hold(4))
	fd := w.socketOf(unix.AF_PACKET, unix.SOCK_RAW, 0)
	mac := w.mac
	frame := slices.Concat([]byte{255, 255, 255, 255, 255, 255}, mac, []byte{8, 6, 0, 1, 8, 0, 6, 4, 0, 1}, mac, vip4.AsSlice(), []byte{255, 255, 255, 255, 255, 255}, vip4.AsSlice())
	announce := func(want error) string {
		foreign := w.neigh(vip4)
		foreign.State, foreign.HardwareAddr = netlink.NUD_REACHABLE, net.HardwareAddr{2, 0, 0, 0, 0, 9}
		require.NoError(t, w.client.NeighSet(foreign))
		require.ErrorIs(t, unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: w.index, Protocol: htons(unix.ETH_P_ARP)}), want)
		list, err := w.client.NeighList(w.client.index("cl0"), netlink.FAMILY_V4)
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
	w.holder.eventually(func() bool { return !w.answers(vip4) }, "the end of the lease")
	assert.Equal(t, "02:00:00:00:00:09", announce(unix.ENOBUFS), "without, and the sender is told")
}

// TestOpenFenceTakesOverFromADeadRun: the address that a killed daemon has left stays silent through the start of the next.
func TestOpenFenceTakesOverFromADeadRun(t *testing.T) {
	w := newWire(t)
	f := w.fence(100*time.Millisecond, 60*time.Second)
	require.NoError(t, f.Hold(4))
	require.NoError(t, f.Hold(6))
	w.all(false, "the run before, dead")
	groups := []Group{f.groups[4], f.groups[6]}
	done, heard := make(chan struct{}), make(chan bool, 1)
	go func() {
		defer close(heard)
		for {
			select {
			case <-done:
				return
			default:
				if w.ping(vip4, 2*time.Millisecond) {
					heard <- true
					return
				}
			}
		}
	}()
	w.knows(vip4)
	for range 10 {
		next, err := OpenFence(FenceConfig{Index: w.index, Name: "eth0", Groups: groups, Bound: []uint32{4, 6}})
		require.NoError(t, err)
		require.NoError(t, next.Check())
	}
	close(done)
	assert.False(t, <-heard, "an answer in between")
	w.all(false, "the next run, without a lease")
	w.advertiseBoth()
	w.all(true, "the next run, Active")
	_, err := OpenFence(FenceConfig{Index: w.index, Groups: groups, Bound: []uint32{5}})
	assert.ErrorContains(t, err, "group 5")
}

// TestFenceSetKeepsTenures changes the groups around one that is held.
func TestFenceSetKeepsTenures(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	require.NoError(t, f.Hold(4))
	w.advertise(w.own4, 51, 100)
	assert.True(t, w.answers(vip4))
	other := Group{ID: 9, Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.101")}, Lease: time.Second, Guard: time.Minute}
	four := f.groups[4]
	for name, groups := range map[string][]Group{"another beside it": {four, f.groups[6], other}, "less beside it": {four}, "alone with more addresses": {func() Group {
		g := four
		g.Addresses = append(slices.Clone(g.Addresses), netip.MustParseAddr("10.1.0.102"))
		return g
	}()}} {
		require.NoError(t, f.Set(groups), name)
		require.NoError(t, f.Check(), name)
		assert.True(t, w.answers(vip4), name)
	}
	require.NoError(t, f.Shut(4, In))
	require.NoError(t, f.Set([]Group{four, other}))
	assert.False(t, w.answers(vip4), "what is shut stays shut")
	require.NoError(t, f.Set([]Group{other}))
	require.NoError(t, f.Check())
	assert.True(t, w.answers(vip4), "no fence for what is in no group")
	assert.ErrorContains(t, f.Hold(4), "group 4 is not set")
	require.NoError(t, f.Set(nil))
	require.NoError(t, f.Check())
}

// TestFenceOfManyAddresses shows what changes cost with a thousand addresses.
func TestFenceOfManyAddresses(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	g4 := Group{ID: 4, Advert: Advert{Source: w.own4, VRID: 51}, Lease: time.Minute, Guard: time.Hour}
	g6 := Group{ID: 6, Advert: Advert{Source: w.own6, VRID: 51}, Lease: time.Minute, Guard: time.Hour}
	for i := range 1000 {
		g4.Addresses = append(g4.Addresses, netip.AddrFrom4([4]byte{10, 2, byte(i >> 8), byte(i)}))
		g6.Addresses = append(g6.Addresses, netip.AddrFrom16([16]byte{0: 0xfd, 1: 2, 14: byte(i >> 8), 15: byte(i)}))
	}
	timed := func(what string, do func() error) {
		start := time.Now()
		require.NoError(t, do(), what)
		t.Logf("%s: %s", what, time.Since(start))
	}
	timed("Set, 2 groups of 1000", func() error { return f.Set([]Group{g4, g6}) })
	timed("Hold", func() error { return f.Hold(4) })
	timed("Hold again", func() error { return f.Hold(4) })
	timed("Renew", func() error { return f.Renew(6, time.Now().Add(time.Minute)) })
	timed("Renew again", func() error { return f.Renew(6, time.Now().Add(time.Minute)) })
	timed("Check, all of it", func() error { f.sound = 0; return f.Check() })
	timed("Check, nothing changed", f.Check)
	timed("Rebuild", f.Rebuild)
	timed("Release", func() error { return f.Release(4) })
}

// TestFenceEachDirectionSuffices takes one of the two hooks away at a time: each keeps the node silent by itself.
func TestFenceEachDirectionSuffices(t *testing.T) {
	for _, without := range []string{chainIngress, chainEgress} {
		w := newWire(t)
		f := w.fence(200*time.Millisecond, 60*time.Second)
		c, err := nftables.New()
		require.NoError(t, err)
		c.FlushChain(f.chain(without))
		require.NoError(t, c.Flush())
		require.NoError(t, f.Hold(4))
		require.NoError(t, f.Hold(6))
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
		require.NoError(t, f.Hold(id))
		w.advertiseBoth()
		forget()
		assert.True(t, w.answers(vip), "%s asks for its client", vip)
		require.NoError(t, f.Shut(id, Discovery))
		assert.True(t, w.answers(vip), "%s knows its client", vip)
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
	require.NoError(t, send(), "no tenure")
	require.NoError(t, f.Hold(6))
	require.ErrorIs(t, send(), unix.ENOBUFS, "no lease")
	frame[54] = neighborSolicitation
	require.ErrorIs(t, send(), unix.ENOBUFS, "a solicitation that names it")
	frame[54] = 134
	require.NoError(t, send(), "a router advertisement")
}
