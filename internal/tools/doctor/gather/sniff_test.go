package gather

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/doctor"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/vrrp"
)

var (
	source4 = netip.MustParseAddr("10.77.0.12")
	group4  = netip.MustParseAddr("224.0.0.18")
	source6 = netip.MustParseAddr("fe80::12")
	group6  = netip.MustParseAddr("ff02::12")
	vip     = netip.MustParseAddr("10.77.0.100")
	peerMAC = net.HardwareAddr{2, 0, 0, 0, 0, 0x12}
)

// frame is an Ethernet frame with an IP packet in it.
func frame(source, destination netip.Addr, protocol, ttl byte, payload []byte) []byte {
	b := append([]byte{0x01, 0, 0x5e, 0, 0, 0x12}, peerMAC...)
	if source.Is4() {
		b = append(b, 0x08, 0x00, 0x45, 0xc0)
		b = binary.BigEndian.AppendUint16(b, uint16(20+len(payload)))
		b = append(b, 0, 0, 0, 0, ttl, protocol, 0, 0)
	} else {
		b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
		b = append(b, protocol, ttl)
	}
	b = append(append(b, source.AsSlice()...), destination.AsSlice()...)
	return append(b, payload...)
}

func udp(port uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, envelope.SourcePort)
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, uint16(udpLen+len(payload)))
	return append(append(b, 0, 0), payload...)
}

func advertisement(t *testing.T) []byte {
	t.Helper()
	a := vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: 100 * time.Millisecond, Addresses: []netip.Addr{vip}}
	b, err := a.Append(nil, source4, group4, vrrp.PseudoHeader)
	require.NoError(t, err)
	return b
}

func hello(t *testing.T, at time.Time) []byte {
	t.Helper()
	b, err := members.Message{Type: members.Hello, Session: 7, Peer: members.PeerState{
		Self:  members.Self{Claims: true, Router: members.Router{Version: 3, VRID: 51, Interval: 100 * time.Millisecond}},
		Group: vip, Node: "n2", Software: "1.0.0", Lifetime: time.Second, Hears: []members.Heard{{Session: 1}, {Session: 2, Missing: true}},
	}}.Append(nil, uint64(at.UnixNano()))
	require.NoError(t, err)
	return b
}

func TestSnifferPassesVRRPAndTheMembersPort(t *testing.T) {
	vm, err := bpf.NewVM(sniffed(9646)[3:]) // without the VLAN's, which only a kernel knows
	require.NoError(t, err)
	tests := map[string]struct {
		frame []byte
		want  bool
	}{
		"VRRP over IPv4":         {frame(source4, group4, protoVRRP, 255, make([]byte, 12)), true},
		"VRRP over IPv6":         {frame(source6, group6, protoVRRP, 255, make([]byte, 24)), true},
		"members over IPv4":      {frame(source4, group4, unix.IPPROTO_UDP, 255, udp(9646, make([]byte, 24))), true},
		"members over IPv6":      {frame(source6, group6, unix.IPPROTO_UDP, 255, udp(9646, make([]byte, 24))), true},
		"another port over IPv4": {frame(source4, group4, unix.IPPROTO_UDP, 255, udp(53, make([]byte, 24))), false},
		"another port over IPv6": {frame(source6, group6, unix.IPPROTO_UDP, 255, udp(53, make([]byte, 24))), false},
		"TCP over IPv4":          {frame(source4, group4, unix.IPPROTO_TCP, 255, udp(9646, make([]byte, 24))), false},
		"TCP over IPv6":          {frame(source6, group6, unix.IPPROTO_TCP, 255, udp(9646, make([]byte, 24))), false},
		"ARP":                    {append(append(make([]byte, 12), 0x08, 0x06), make([]byte, 40)...), false},
	}
	for name, tt := range tests {
		n, err := vm.Run(tt.frame)
		require.NoError(t, err, name)
		assert.Equal(t, tt.want, n > 0, name)
	}
}

func TestPacketOfRefusesWhatCameThroughARouterOrIsCutOff(t *testing.T) {
	good := frame(source4, group4, protoVRRP, 255, advertisement(t))
	_, ok := packetOf(good, 9646)
	require.True(t, ok)
	for n := range good {
		_, ok := packetOf(good[:n], 9646)
		assert.False(t, ok, "%d bytes", n)
	}
	for name, b := range map[string][]byte{
		"TTL":          frame(source4, group4, protoVRRP, 254, advertisement(t)),
		"hop limit":    frame(source6, group6, protoVRRP, 64, make([]byte, 24)),
		"port":         frame(source4, group4, unix.IPPROTO_UDP, 255, udp(9, hello(t, time.Now()))),
		"UDP's length": frame(source4, group4, unix.IPPROTO_UDP, 255, append(udp(9646, hello(t, time.Now())), 0)),
	} {
		_, ok := packetOf(b, 9646)
		assert.False(t, ok, name)
	}
}

func TestNotesKeepTheNewestOfEachSender(t *testing.T) {
	now := time.Now()
	n := &notes{mac: "02:00:00:00:00:11", wire: doctor.Wire{IPv4: true}}
	for range 2 {
		for _, b := range [][]byte{
			frame(source4, group4, protoVRRP, 255, advertisement(t)),
			frame(source4, group4, unix.IPPROTO_UDP, 255, udp(9646, hello(t, now.Add(3*time.Second)))),
			frame(source4, group4, protoVRRP, 255, []byte{1, 2, 3}),
		} {
			p, ok := packetOf(b, 9646)
			require.True(t, ok)
			n.note(p, now)
		}
	}
	n.reached(source4, 51)
	w := n.facts()
	require.Len(t, w.Adverts, 1)
	require.Len(t, w.Hellos, 1)
	assert.True(t, w.Adverts[0].Arrived)
	assert.False(t, w.Hellos[0].Arrived)
	assert.Equal(t, []netip.Addr{vip}, w.Adverts[0].Addresses)
	h := w.Hellos[0]
	assert.Equal(t, "n2", h.Node)
	assert.Equal(t, peerMAC.String(), h.MAC)
	assert.Equal(t, []uint64{1, 2}, h.Hears)
	assert.Equal(t, []uint64{2}, h.Misses)
	assert.True(t, h.Claims)
	assert.False(t, h.Own)
	assert.Empty(t, h.KeyID)
	assert.Equal(t, 3*time.Second, h.Ahead)
}

func TestNotesAreOfOneFamily(t *testing.T) {
	n := &notes{}
	p, ok := packetOf(frame(source4, group4, protoVRRP, 255, advertisement(t)), 9646)
	require.True(t, ok)
	n.note(p, time.Now())
	assert.Empty(t, n.facts().Adverts, "IPv4 on the wire of IPv6")
}

func TestNotesAreBounded(t *testing.T) {
	n := &notes{}
	for i := range 3 * most {
		a := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		n.reached(a, 1)
		n.spoken(a)
		n.advert(advertFrom(a))
		n.hello(helloFrom(a))
		n.claim(claimOf(a))
	}
	w := n.facts()
	assert.Len(t, w.Adverts, most)
	assert.Len(t, w.Hellos, most)
	assert.Len(t, w.Claims, most)
}

func FuzzPacketOf(f *testing.F) {
	f.Add(frame(source4, group4, protoVRRP, 255, make([]byte, 12)))
	f.Add(frame(source6, group6, unix.IPPROTO_UDP, 255, udp(9646, make([]byte, 30))))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := packetOf(b, 9646); ok {
			n := &notes{wire: doctor.Wire{IPv4: p.source.Is4()}}
			n.note(p, time.Unix(0, 0))
			assert.LessOrEqual(t, len(p.payload), len(b))
		}
	})
}

func TestGroupsOfAPlaceAndTheirMACs(t *testing.T) {
	other, other6 := netip.MustParseAddr("239.255.0.18"), netip.MustParseAddr("ff02::1:2")
	with := func(g netip.Addr) config.VIP { return config.VIP{VRRP: config.VRRP{MulticastGroup: g}} }
	assert.Equal(t, []netip.Addr{group4, other}, place{ipv4: true, vips: []config.VIP{with(other), {}, with(group4), with(other)}}.groups())
	assert.Equal(t, []netip.Addr{group6, other6}, place{vips: []config.VIP{with(other6)}}.groups())
	assert.Equal(t, [8]byte{0x01, 0x00, 0x5e, 0x7f, 0, 0x12}, groupMAC(other))
	assert.Equal(t, [8]byte{0x33, 0x33, 0, 0, 0, 0x12}, groupMAC(group6))
}
