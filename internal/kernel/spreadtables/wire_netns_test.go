//go:build netns

package spreadtables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/members/slots"
)

// TestInvalidPacketEndsNothing sends what is out of the window of a healthy connection, and acknowledges what it may. Sent on to the second
// member, which has the address, it would be answered by a reset that the client believes.
func TestInvalidPacketEndsNothing(t *testing.T) {
	l := newLab(t)
	l.bound(2)
	vip := both["IPv4"]
	for receiver := range l.members {
		l.receives(receiver)
		l.owned(1, 2)
		c := l.dial(l.client, vip)
		for _, flags := range []byte{0x10, 0x18, 0x11, 0x14} { // ACK, PSH, FIN, RST
			l.stray(c, vip, flags)
			c.goesOn("after what is out of its window")
		}
		require.NoError(t, c.asksMuch())
	}
}

// stray sends a segment of a connection that begins far behind what the member takes.
func (l *lab) stray(c *conn, vip netip.Addr, flags byte) {
	l.t.Helper()
	from := c.LocalAddr().(*net.TCPAddr).AddrPort()
	sent, received := c.numbers()
	segment := binary.BigEndian.AppendUint16(nil, from.Port())
	segment = binary.BigEndian.AppendUint16(segment, front)
	segment = binary.BigEndian.AppendUint32(segment, sent+1<<30)
	segment = binary.BigEndian.AppendUint32(segment, received)
	segment = append(segment, 5<<4, flags, 0xff, 0xff, 0, 0, 0, 0)
	pseudo := append(append(from.Addr().Unmap().AsSlice(), vip.AsSlice()...), 0, unix.IPPROTO_TCP, 0, byte(len(segment)))
	binary.BigEndian.PutUint16(segment[16:], checksum(append(pseudo, segment...)))
	l.client.In(func() {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP)
		require.NoError(l.t, err)
		require.NoError(l.t, unix.Sendto(fd, segment, 0, &unix.SockaddrInet4{Addr: vip.As4()}))
		require.NoError(l.t, unix.Close(fd))
	})
}

// numbers are the sequence numbers of what comes next in both directions, which the kernel tells of a connection that is moved elsewhere.
func (c *conn) numbers() (sent, received uint32) {
	c.t.Helper()
	raw, err := c.SyscallConn()
	require.NoError(c.t, err)
	const recvQueue, sendQueue = 1, 2
	require.NoError(c.t, raw.Control(func(fd uintptr) {
		set := func(option, value int) {
			require.NoError(c.t, unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, option, value))
		}
		get := func(queue int) uint32 {
			set(unix.TCP_REPAIR_QUEUE, queue)
			n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUEUE_SEQ)
			require.NoError(c.t, err)
			return uint32(n)
		}
		set(unix.TCP_REPAIR, 1)
		sent, received = get(sendQueue), get(recvQueue)
		set(unix.TCP_REPAIR, -1) // and no probe of the window
	}))
	return sent, received
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// TestPathMTU downloads over a router with a smaller MTU: the member learns of it, though the router tells whoever receives for the address.
// That holds also for a member that has the connection and not the slot any more.
func TestPathMTU(t *testing.T) {
	l := newLab(t)
	router, far := netnstest.New(t), netnstest.New(t)
	l.wires.Enter()
	l.wires.Plug("br0", "router", router)
	router.Has("eth0", "10.1.0.1/24", "fd01::1/64")
	router.Pair("eth1", far, "eth0")
	router.Has("eth1", "10.2.0.1/24", "fd02::1/64")
	far.Has("eth0", "10.2.0.9/24", "fd02::9/64")
	require.NoError(t, router.LinkSetMTU(router.Link("eth1"), 1400))
	router.In(func() {
		router.Sysctl("net/ipv4/ip_forward", "1")
		router.Sysctl("net/ipv6/conf/all/forwarding", "1")
	})
	route := func(s *netnstest.Space, to, via string) {
		_, dest, err := net.ParseCIDR(to)
		require.NoError(t, err)
		require.NoError(t, s.RouteAdd(&netlink.Route{LinkIndex: s.Index("eth0"), Dst: dest, Gw: net.ParseIP(via)}))
	}
	route(far, "10.1.0.0/24", "10.2.0.1")
	route(far, "fd01::/64", "fd02::1")
	for _, n := range l.members {
		route(n.Space, "10.2.0.0/24", "10.1.0.1")
		route(n.Space, "fd02::/64", "fd01::1")
	}
	receives := func(member int) {
		for _, vip := range both {
			require.NoError(t, router.NeighSet(neighbour(router, vip, l.members[member].Space)))
		}
	}
	for _, macs := range []bool{true, false} {
		if !macs {
			l.forgetMACs()
		}
		for name, vip := range both {
			receives(0)
			l.owned(1, slots.None)
			c, moved := l.dial(far, vip), l.dial(far, vip)
			l.forgetPaths()
			require.NoError(t, c.asksMuch(), "%s, the owner has it", name)
			l.owned(2, 1)
			l.forgetPaths()
			require.NoError(t, moved.asksMuch(), "%s, the second one has it", name)
		}
	}
}

// forgetPaths has members know no path MTU.
func (l *lab) forgetPaths() {
	for _, n := range l.members {
		n.In(func() {
			n.IP("route flush cache")
			n.IP("-6 route flush cache")
		})
	}
}

// TestDatagrams go to the owner, whole or in fragments, and once each. The bridge sends every frame to everybody, and all of them listen.
func TestDatagrams(t *testing.T) {
	l := newLab(t)
	l.wires.In(func() { l.wires.IP("link set br0 type bridge ageing_time 0") })
	for _, n := range l.members {
		require.NoError(t, n.SetPromiscOn(n.Link("eth0")))
	}
	for _, macs := range []bool{true, false} {
		if !macs {
			l.forgetMACs()
		}
		for name, vip := range both {
			for receiver := range l.members {
				l.receives(receiver)
				for owner := range l.members {
					l.owned(uint8(owner), slots.None)
					var c net.Conn
					l.client.In(func() {
						var err error
						c, err = net.Dial("udp", netip.AddrPortFrom(vip, dns).String())
						require.NoError(t, err)
					})
					require.NoError(t, c.SetDeadline(time.Now().Add(netnstest.Patience)))
					before := l.members[owner].heard.Load()
					for _, size := range []int{100, 4000} {
						_, err := c.Write([]byte(strings.Repeat("x", size)))
						require.NoError(t, err)
						answer := make([]byte, 100)
						n, err := c.Read(answer)
						require.NoError(t, err, "%s, %d bytes, received by %d for %d", name, size, receiver, owner)
						assert.Equal(t, fmt.Sprintf("%d %d", owner, size), string(answer[:n]), name)
					}
					assert.Equal(t, int32(2), l.members[owner].heard.Load()-before, "once each")
					require.NoError(t, c.Close())
				}
			}
		}
	}
}

// TestPacketWithoutHopsLeft is served where it is: the kernel would send it on with a TTL of 0, and then 255.
func TestPacketWithoutHopsLeft(t *testing.T) {
	l := newLab(t)
	for _, macs := range []bool{true, false} {
		if !macs {
			l.forgetMACs()
		}
		for name, vip := range both {
			l.owned(1, slots.None)
			for hops, member := range map[int]int{2: 1, 1: 0} {
				c := l.datagram(vip, hops)
				answer := make([]byte, 100)
				n, err := c.Read(answer)
				require.NoError(t, err, "%s, TTL %d, MACs known: %t", name, hops, macs)
				assert.Equal(t, fmt.Sprintf("%d 1", member), string(answer[:n]), "%s, TTL %d, MACs known: %t", name, hops, macs)
			}
		}
	}
}

// datagram sends one from the client.
func (l *lab) datagram(vip netip.Addr, hops int) net.Conn {
	l.t.Helper()
	control := func(_, _ string, raw syscall.RawConn) error {
		level, option := unix.IPPROTO_IP, unix.IP_TTL
		if vip.Is6() {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS
		}
		var set error
		err := raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), level, option, hops) })
		return errors.Join(err, set)
	}
	var c net.Conn
	l.client.In(func() {
		var err error
		c, err = (&net.Dialer{Control: control}).Dial("udp", netip.AddrPortFrom(vip, dns).String())
		require.NoError(l.t, err)
	})
	l.t.Cleanup(func() { _ = c.Close() })
	require.NoError(l.t, c.SetDeadline(time.Now().Add(netnstest.Patience)))
	_, err := c.Write([]byte("x"))
	require.NoError(l.t, err)
	return c
}

// TestPacketDoesNotGoRound between two members, of which each has the other for the owner, and another MAC than it says, as behind a bond that
// sends by all of its ports.
func TestPacketDoesNotGoRound(t *testing.T) {
	l := newLab(t)
	for i, n := range l.members {
		for j := range n.cfg.Members {
			n.cfg.Members[j].MAC = net.HardwareAddr{2, 0, 0, 0, 9, byte(j)}
		}
		n.cfg.Slots = ownedBy(uint8(1-min(i, 1)), slots.None)
	}
	l.apply()
	for name, vip := range both {
		c := l.datagram(vip, 64)
		_, err := c.Read(make([]byte, 100))
		require.NoError(t, err, "%s: it has come to an end", name)
	}
}

// TestFrameOfAVLAN passes the link on its way to a link of its own: the owner of its slot may not be in that VLAN.
func TestFrameOfAVLAN(t *testing.T) {
	l := newLab(t)
	l.owned(1, slots.None)
	owner := l.members[1]
	nft := func(args string) string {
		out, err := exec.Command("nft", args).CombinedOutput()
		require.NoError(t, err, "%s: %s", args, out)
		return string(out)
	}
	owner.In(func() {
		nft("add table netdev seen; add chain netdev seen c { type filter hook ingress device eth0 priority -600; }; add rule netdev seen c vlan id 10 counter")
	})
	for name, vip := range both {
		l.tagged(vip)
		_, err := l.datagram(vip, 64).Read(make([]byte, 100))
		require.NoError(t, err, "what has no tag is sent on")
		owner.In(func() { assert.Contains(t, nft("list table netdev seen"), "counter packets 0", name) })
	}
}

// tagged sends a datagram to the receiver, in a frame of a VLAN.
func (l *lab) tagged(vip netip.Addr) {
	l.t.Helper()
	mac := func(s *netnstest.Space) []byte { return s.Link("eth0").Attrs().HardwareAddr }
	frame := append(mac(l.members[0].Space), mac(l.client)...)
	frame = append(frame, 0x81, 0, 0, 10)
	datagram := []byte{0x9c, 0x40, 0, dns, 0, 9, 0, 0, 'x'}
	if vip.Is4() {
		header := []byte{0x45, 0, 0, byte(20 + len(datagram)), 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0, 10, 1, 0, 9}
		header = append(header, vip.AsSlice()...)
		binary.BigEndian.PutUint16(header[10:], checksum(header))
		frame = append(append(frame, 0x08, 0), header...)
	} else {
		header := append([]byte{0x60, 0, 0, 0, 0, byte(len(datagram)), unix.IPPROTO_UDP, 64}, netip.MustParseAddr("fd01::9").AsSlice()...)
		frame = append(append(append(frame, 0x86, 0xdd), header...), vip.AsSlice()...)
	}
	l.client.In(func() {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		require.NoError(l.t, err)
		require.NoError(l.t, unix.Sendto(fd, append(frame, datagram...), 0, &unix.SockaddrLinklayer{Ifindex: l.client.Index("eth0"), Halen: 6}))
		require.NoError(l.t, unix.Close(fd))
	})
}

// TestFrameForEverybody is neither sent on nor answered: a datagram that is spread would have as many answers as there are members.
func TestFrameForEverybody(t *testing.T) {
	l := newLab(t)
	heard := func() (n int32) {
		for _, m := range l.members {
			n += m.heard.Load()
		}
		return n
	}
	for _, macs := range []bool{true, false} {
		if !macs {
			l.forgetMACs()
		}
		for name, vip := range both {
			l.owned(1, slots.None)
			var c net.Conn
			l.client.In(func() {
				var err error
				c, err = net.Dial("udp", netip.AddrPortFrom(vip, dns).String())
				require.NoError(t, err)
			})
			before := heard()
			everybody := neighbour(l.client, vip, l.client)
			everybody.HardwareAddr = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
			require.NoError(t, l.client.NeighSet(everybody))
			_, err := c.Write([]byte("to everybody"))
			require.NoError(t, err)
			l.receives(0)
			require.NoError(t, c.SetDeadline(time.Now().Add(netnstest.Patience)))
			_, err = c.Write([]byte("x"))
			require.NoError(t, err)
			answer := make([]byte, 100)
			n, err := c.Read(answer)
			require.NoError(t, err)
			assert.Equal(t, "1 1", string(answer[:n]), name)
			assert.Equal(t, int32(1), heard()-before, name)
			require.NoError(t, c.Close())
		}
	}
}

// TestSwitchThatClearsTheDSCP takes away by what members mark a second chance: it works, and does not go round.
func TestSwitchThatClearsTheDSCP(t *testing.T) {
	l := newLab(t)
	l.wires.In(func() {
		nft := exec.Command("nft", "-f", "-")
		nft.Stdin = strings.NewReader("table bridge t { chain c { type filter hook forward priority 0; ip dscp set 0; ip6 dscp set 0; }; }")
		out, err := nft.CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	for name, vip := range both {
		for receiver := range l.members {
			l.receives(receiver)
			l.owned(1, slots.None)
			kept, lost := l.dial(l.client, vip), l.dial(l.client, vip)
			l.owned(2, 1)
			kept.goesOn(name)
			kept.ends(l.members[1], name)
			l.owned(2, 0)
			_, err := lost.Write([]byte("x"))
			require.NoError(t, err)
			_, err = lost.Read(make([]byte, 1))
			assert.True(t, refused(err), "%s: nobody who is asked has it: %v", name, err)
		}
	}
	l.owned(1, 2)
	c := l.dial(l.client, both["IPv4"])
	for _, flags := range []byte{0x10, 0x11, 0x14} {
		l.stray(c, both["IPv4"], flags)
		c.goesOn("nobody answers what is out of its window")
	}
}
