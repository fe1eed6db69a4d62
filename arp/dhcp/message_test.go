package dhcp

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"

	"github.com/keepvip/keepvip/internal/base/checksum"
)

var own = net.HardwareAddr{2, 0, 0, 0, 0, 11}

// turned makes the frame of a request that of an answer, with these options in place of its own.
func turned(options ...byte) []byte {
	b := frame(own, Outgoing{Message: Message{Type: Request, XID: 7, Requested: vip}})
	udpAt := ethernetLen + ipv4Len
	copy(b[6:], via)
	binary.BigEndian.PutUint16(b[udpAt:], serverPort)
	binary.BigEndian.PutUint16(b[udpAt+2:], clientPort)
	m := b[udpAt+udpLen:]
	m[0] = bootReply
	copy(m[offYour:], vip.AsSlice())
	clear(m[offOption:])
	copy(m[offOption:], options)
	return b
}

func TestRequestOnTheWire(t *testing.T) {
	b := frame(own, Outgoing{Message: Message{Type: Request, XID: 0x01020304, Secs: 5, Requested: vip, Server: server, ClientID: client}})
	assert.Equal(t, everybodyMAC, net.HardwareAddr(b[:6]))
	assert.Equal(t, own, net.HardwareAddr(b[6:12]))
	ip := b[ethernetLen:]
	assert.Equal(t, make([]byte, 4), ip[12:16], "from no address: it need not be bound")
	assert.Equal(t, everybody.AsSlice(), ip[16:20])
	assert.Equal(t, uint16(0xffff), checksum.Fold(checksum.Add(0, ip[:ipv4Len])))
	pseudo := uint32(udp) + uint32(len(ip)-ipv4Len) + 0xffff + 0xffff
	assert.Equal(t, uint16(0xffff), checksum.Fold(checksum.Add(pseudo, ip[ipv4Len:])))
	m := ip[ipv4Len+udpLen:]
	assert.GreaterOrEqual(t, len(m), leastLen)
	assert.Equal(t, []byte{bootRequest, ethernet, 6, 0, 1, 2, 3, 4, 0, 5, 0x80, 0}, m[:12], "with the broadcast flag")
	assert.Equal(t, []byte(own), m[offChaddr:offChaddr+6])
	want := append([]byte{53, 1, 3, 61, byte(len(client))}, client...)
	want = append(want, 50, 4, 10, 77, 0, 100, 54, 4, 10, 77, 0, 1, 55, 3, 51, 58, 59, 255)
	assert.Equal(t, want, m[offOption:offOption+len(want)])
}

func TestRenewalGoesToItsServer(t *testing.T) {
	b := frame(own, Outgoing{Message: Message{Type: Request, Client: vip}, To: server, Via: via})
	assert.Equal(t, via, net.HardwareAddr(b[:6]))
	assert.Equal(t, vip.AsSlice(), b[ethernetLen+12:ethernetLen+16])
	assert.Equal(t, server.AsSlice(), b[ethernetLen+16:ethernetLen+20])
	assert.Equal(t, vip.AsSlice(), b[ethernetLen+ipv4Len+udpLen+offClient:][:4])
}

func TestAnswerIsRead(t *testing.T) {
	b := turned(53, 1, 5, 0, 54, 4, 10, 77, 0, 1, 51, 4, 0, 0, 14, 16, 58, 4, 0, 0, 7, 8, 59, 4, 0, 0, 12, 78, 61, 2, 0, 'x', 56, 2, 'o', 'h', 255, 99)
	r, ok := parseFrame(append(b, 0, 0)) // which Ethernet has added
	require.True(t, ok)
	assert.Equal(t, Reply{Message{
		Type: ACK, XID: 7, Your: vip, Server: server, ClientID: []byte{0, 'x'}, Lease: time.Hour, T1: 30 * time.Minute, T2: 3150 * time.Second, Text: "oh",
	}, via}, r)
}

// RFC 2132 section 9.3.
func TestOptionsInOtherFields(t *testing.T) {
	b := turned(52, 1, 3, 255)
	m := b[ethernetLen+ipv4Len+udpLen:]
	copy(m[offFile:], []byte{53, 1, 2, 255})
	copy(m[offSName:], []byte{54, 4, 10, 77, 0, 1, 255})
	r, ok := parseFrame(b)
	require.True(t, ok)
	assert.Equal(t, Offer, r.Type)
	assert.Equal(t, server, r.Server)
}

func TestWhatIsNoAnswerIsLeftOut(t *testing.T) {
	good := turned(53, 1, 5, 255)
	_, ok := parseFrame(good)
	require.True(t, ok)
	for name, change := range map[string]func([]byte) []byte{
		"no IPv4":                func(b []byte) []byte { b[12] = 0x86; return b },
		"another version":        func(b []byte) []byte { b[ethernetLen] = 0x65; return b },
		"a short header":         func(b []byte) []byte { b[ethernetLen] = 0x44; return b },
		"a fragment":             func(b []byte) []byte { b[ethernetLen+6] = 0x20; return b },
		"TCP":                    func(b []byte) []byte { b[ethernetLen+9] = 6; return b },
		"longer than the frame":  func(b []byte) []byte { return b[:len(b)-1] },
		"to another port":        func(b []byte) []byte { b[ethernetLen+ipv4Len+3]++; return b },
		"longer than the packet": func(b []byte) []byte { b[ethernetLen+ipv4Len+4] = 0xff; return b },
		"shorter than its head":  func(b []byte) []byte { b[ethernetLen+ipv4Len+4], b[ethernetLen+ipv4Len+5] = 0, 7; return b },
		"shorter than a message": func(b []byte) []byte { b[ethernetLen+ipv4Len+4], b[ethernetLen+ipv4Len+5] = 0, 100; return b },
		"a request":              func(b []byte) []byte { b[ethernetLen+ipv4Len+udpLen] = bootRequest; return b },
		"no magic":               func(b []byte) []byte { b[ethernetLen+ipv4Len+udpLen+offMagic]++; return b },
		"no type":                func(b []byte) []byte { b[ethernetLen+ipv4Len+udpLen+offOption] = 12; return b },
		"an option too long":     func(b []byte) []byte { b[ethernetLen+ipv4Len+udpLen+offOption+1] = 200; return b },
	} {
		_, ok := parseFrame(change(append([]byte(nil), good...)))
		assert.False(t, ok, name)
	}
}

// The filter of the socket passes what the parser takes, with options of IPv4 too, and nothing that goes elsewhere.
func TestFilterPassesAnswersAlone(t *testing.T) {
	raw, err := answers()
	require.NoError(t, err)
	instructions, all := bpf.Disassemble(raw)
	require.True(t, all)
	vm, err := bpf.NewVM(instructions[2:]) // without the kernel's word about VLANs
	require.NoError(t, err)
	passes := func(b []byte) bool {
		n, err := vm.Run(b)
		require.NoError(t, err)
		return n > 0
	}
	good := turned(53, 1, 5, 255)
	assert.True(t, passes(good))
	longer := append(append(append([]byte(nil), good[:ethernetLen+ipv4Len]...), 1, 1, 1, 1), good[ethernetLen+ipv4Len:]...)
	longer[ethernetLen] = 0x46
	binary.BigEndian.PutUint16(longer[ethernetLen+2:], uint16(len(longer)-ethernetLen))
	assert.True(t, passes(longer))
	_, ok := parseFrame(longer)
	assert.True(t, ok)
	assert.False(t, passes(frame(own, Outgoing{Message: Message{Type: Discover}})), "a request")
	good[ethernetLen+6] = 0x20
	assert.False(t, passes(good), "a fragment")
}

func FuzzParse(f *testing.F) {
	f.Add(turned(53, 1, 5, 54, 4, 10, 77, 0, 1, 51, 4, 0, 0, 14, 16, 255))
	f.Add(turned(52, 1, 3, 61, 255))
	f.Add(turned())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := parseFrame(b)
		if !ok {
			return
		}
		assert.NotZero(t, r.Type)
		assert.Len(t, r.Via, 6)
		for _, a := range []netip.Addr{r.Your, r.Client, r.Server} {
			assert.True(t, !a.IsValid() || a.Is4() && !a.IsUnspecified())
		}
	})
}
