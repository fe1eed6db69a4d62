package members

import (
	"encoding/hex"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/vrrp"
)

var (
	group = netip.MustParseAddr("10.77.0.100")
	nodeA = netip.MustParseAddr("10.77.0.11")
	nodeB = netip.MustParseAddr("10.77.0.12")
	nodeC = netip.MustParseAddr("10.77.0.13")
)

// full has every field.
func full() Message {
	return Message{
		Type: Request, Session: 0x0102030405060708,
		Peer: PeerState{
			Self:  Self{State: vrrp.Backup, Base: 100, Priority: 1, Reason: "refused", Code: code.CheckRefused, For: nodeB, Claims: true, Router: Router{Version: 3, VRID: 51, Interval: 100 * time.Millisecond}, Spread: spread()},
			Group: group, Node: "cp-1", Software: "v1", Revision: 1, Epoch: 7, Proven: true, Lifetime: 3500 * time.Millisecond, Hears: []Heard{{Session: 0xdd, Missing: true}}, Clients: []Client{{At: netip.MustParseAddrPort("192.0.2.7:40000"), Port: 6443}},
		},
		Transfer: Transfer{To: nodeC, Session: 0xaa, Epoch: 0xbb, Nonce: 0xcc},
	}
}

// wires are messages byte by byte, as docs/protocol.md has them.
func wires() map[string]struct {
	message Message
	bytes   string
} {
	six := Message{Type: Hello, Peer: PeerState{Self: Self{State: vrrp.Active, Base: 254, Priority: 254, Fit: true}, Group: netip.MustParseAddr("fd77::100")}}
	return map[string]struct {
		message Message
		bytes   string
	}{
		"REQUEST with every field": {full(), `
			6b707670 01 02 00a8 0102030405060708 000000000000002a
			01 04 0a4d0064
			02 0f 01 64 01 0a 01 0dac 0000000000000007
			03 04 63702d31
			04 02 7631
			05 07 72656675736564
			0b 02 00c9
			06 04 0a4d000c
			09 06 03 33 00000064
			0a 09 01 00000000000000dd
			0c 34 03 c8 02aabbccddee 10 fd770000000000000000000000000011 02 06 01 20fb 000004d2 11 00 0035 00000000 01 04 0a4d000c 00000005
			07 04 0a4d000d
			08 18 00000000000000aa 00000000000000bb 00000000000000cc
			0d 09 04 c0000207 9c40 192b`},
		"HELLO over IPv6, the shortest": {six, `
			6b707670 01 01 0023 0000000000000000 000000000000002a
			01 10 fd770000000000000000000000000100
			02 0f 02 fe fe 01 00 0000 0000000000000000`},
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	require.NoError(t, err)
	return b
}

func TestMessageAppendIsByteExact(t *testing.T) {
	for name, tt := range wires() {
		t.Run(name, func(t *testing.T) {
			b, err := tt.message.Append(nil, 42)
			require.NoError(t, err)
			assert.Equal(t, hex.EncodeToString(unhex(t, tt.bytes)), hex.EncodeToString(b))
			got, sequence, err := Parse(b)
			require.NoError(t, err)
			assert.Equal(t, tt.message, got)
			assert.Equal(t, uint64(42), sequence)
		})
	}
}

func TestMessageAppendRefuses(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tt := range []struct {
		name string
		give func(*Message)
		want string
	}{
		{"type", func(m *Message) { m.Type = 9 }, "type 9, want HELLO, REQUEST or GRANT"},
		{"state", func(m *Message) { m.Peer.State = 7 }, "state(7)"},
		{"no group", func(m *Message) { m.Peer.Group = netip.Addr{} }, "group"},
		{"zone", func(m *Message) { m.Peer.Group = netip.MustParseAddr("fe80::1%eth0") }, "group"},
		{"no addressee", func(m *Message) { m.Transfer.To = netip.Addr{} }, "REQUEST to"},
		{"unspecified taker", func(m *Message) { m.Peer.For = netip.IPv4Unspecified() }, "wanted taker"},
		{"lifetime", func(m *Message) { m.Peer.Lifetime = 66 * time.Second }, "lifetime"},
		{"node", func(m *Message) { m.Peer.Node = long }, "node"},
		{"reason", func(m *Message) { m.Peer.Reason = "a\x1b[31mb" }, "reason"},
		{"software", func(m *Message) { m.Peer.Software = "\xff" }, "software"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := full()
			tt.give(&m)
			_, err := m.Append(nil, 1)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	good := func() []byte { b, _ := full().Append(nil, 1); return b }
	// fields makes a HELLO of these fields.
	fields := func(s string) []byte {
		b := append([]byte("kpvp"), 1, 1, 0, 0)
		b = append(b, make([]byte, 16)...)
		b = append(b, unhex(t, s)...)
		b[7] = byte(len(b) - envelope.HeaderLen)
		return b
	}
	const rank = "020f 02 fe fe 01 00 0000 0000000000000000 "
	for _, tt := range []struct {
		name string
		give []byte
		want Reason
	}{
		{"nothing", nil, envelope.RejectLength},
		{"a byte short of a header", good()[:envelope.HeaderLen-1], envelope.RejectLength},
		{"cut off", good()[:len(good())-1], envelope.RejectLength},
		{"a byte more", append(good(), 0), envelope.RejectLength},
		{"much more", append(good(), make([]byte, envelope.MaxMessage)...), envelope.RejectLength},
		{"magic", append([]byte("x"), good()[1:]...), envelope.RejectMagic},
		{"version", func() []byte { b := good(); b[4] = 2; return b }(), RejectVersion},
		{"type", func() []byte { b := good(); b[5] = 4; return b }(), envelope.RejectType},
		{"field longer than the rest", fields(rank + "01ff 0a4d0064"), envelope.RejectLength},
		{"half a field header", fields(rank + "01"), envelope.RejectLength},
		{"no group", fields(rank), envelope.RejectField},
		{"no rank", fields("0104 0a4d0064"), envelope.RejectField},
		{"group twice", fields(rank + "0104 0a4d0064 0104 0a4d0064"), envelope.RejectField},
		{"group of 5 bytes", fields(rank + "0105 0a4d006401"), envelope.RejectField},
		{"group 0.0.0.0", fields(rank + "0104 00000000"), envelope.RejectField},
		{"short rank", fields("0104 0a4d0064 020e 02 fe fe 01 00 0000 00000000000000"), envelope.RejectField},
		{"state 3", fields("0104 0a4d0064 020f 03 fe fe 01 00 0000 0000000000000000"), envelope.RejectField},
		{"short code", fields(rank + "0104 0a4d0064 0b01 01"), envelope.RejectField},
		{"short router", fields(rank + "0104 0a4d0064 0905 0333000000"), envelope.RejectField},
		{"interval of a day", fields(rank + "0104 0a4d0064 0906 033305265c00"), envelope.RejectField},
		{"half a member that is heard", fields(rank + "0104 0a4d0064 0a0a 01000000000000000000"), envelope.RejectField},
		{"short spread", fields(rank + "0104 0a4d0064 0c08 01c8 02aabbccddee"), envelope.RejectField},
		{"spread without ports", fields(rank + "0104 0a4d0064 0c09 01c8 02aabbccddee 00"), envelope.RejectField},
		{"spread with fewer ports than it says", fields(rank + "0104 0a4d0064 0c12 01c8 02aabbccddee 00 02 0601192b00000001"), envelope.RejectField},
		{"spread with half an address", fields(rank + "0104 0a4d0064 0c0c 01c8 02aabbccddee 02 0a4d 00"), envelope.RejectField},
		{"spread with an address of nobody", fields(rank + "0104 0a4d0064 0c0e 01c8 02aabbccddee 04 00000000 00"), envelope.RejectField},
		{"spread with an address of many", fields(rank + "0104 0a4d0064 0c0e 01c8 02aabbccddee 04 e0000012 00"), envelope.RejectField},
		{"spread with the own host's address", fields(rank + "0104 0a4d0064 0c0e 01c8 02aabbccddee 04 7f000001 00"), envelope.RejectField},
		{"spread with an address that is cut off", fields(rank + "0104 0a4d0064 0c0b 01c8 02aabbccddee 04 0a4d"), envelope.RejectField},
		{"spread with a MAC of many", fields(rank + "0104 0a4d0064 0c0a 01c8 01005e000012 00 00"), envelope.RejectField},
		{"spread of port 0", fields(rank + "0104 0a4d0064 0c12 01c8 02aabbccddee 00 01 0601000000000001"), envelope.RejectField},
		{"spread of a port twice", fields(rank + "0104 0a4d0064 0c1a 01c8 02aabbccddee 00 02 0601192b00000001 0600192b00000002"), envelope.RejectField},
		{"spread of 17 ports", fields(rank + "0104 0a4d0064 0c92 01c8 02aabbccddee 00 11" + strings.Repeat("0601192b00000001", 17)), envelope.RejectField},
		{"control characters", fields(rank + "0104 0a4d0064 0502 1b5b"), envelope.RejectField},
		{"long reason", fields(rank + "0104 0a4d0064 05c9" + strings.Repeat("61", 201)), envelope.RejectField},
		{"REQUEST without a transfer", func() []byte { b := fields(rank + "0104 0a4d0064 0704 0a4d000d"); b[5] = 2; return b }(), envelope.RejectField},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Parse(tt.give)
			var packet *envelope.PacketError
			require.ErrorAs(t, err, &packet)
			assert.Equal(t, tt.want, packet.Reason)
			assert.NotEmpty(t, packet.Error())
		})
	}
}

// A later version may add fields, and lengthen those that are not text or addresses.
func TestParseSkipsWhatLaterVersionsAdd(t *testing.T) {
	b := unhex(t, `
		6b707670 01 01 0020 0000000000000000 000000000000002a
		ff 03 010203
		02 11 02 fe fe ff 09 0000 0000000000000000 beef
		01 04 0a4d0064
		0d 00`)
	m, _, err := Parse(b)
	require.NoError(t, err)
	assert.Equal(t, PeerState{Self: Self{State: vrrp.Active, Base: 254, Priority: 254, Fit: true, NoCandidate: true, Draining: true, Claims: true}, Group: group, Proven: true, Revision: 9}, m.Peer)
}

func TestRouterSaysWhichAddressesAndMTUItHas(t *testing.T) {
	some := []netip.Addr{group, nodeA, netip.MustParseAddr("fd77::100")}
	other := []netip.Addr{some[2], some[0], some[1]}
	assert.Equal(t, DigestOf(some), DigestOf(other), "the order does not matter")
	assert.NotEqual(t, DigestOf(some), DigestOf(some[1:]))
	assert.NotZero(t, DigestOf(nil))

	m := full()
	m.Peer.Router.Addresses, m.Peer.Router.MTU = 0x01020304, 1500
	b, err := m.Append(nil, 1)
	require.NoError(t, err)
	assert.Contains(t, string(b), string(unhex(t, "09 0c 03 33 00000064 01020304 05dc")))
	got, _, err := Parse(b)
	require.NoError(t, err)
	assert.Equal(t, m, got)
}

func TestClean(t *testing.T) {
	m := full()
	m.Peer.Reason = printable.Clean(strings.Repeat("ä\x00", 300), maxReason)
	_, err := m.Append(nil, 1)
	assert.NoError(t, err)
}

func TestLongestMessageFits(t *testing.T) {
	m := full()
	six := netip.MustParseAddr("fd77::1")
	m.Peer.Group, m.Peer.For, m.Transfer.To = six, six, six
	m.Peer.Node, m.Peer.Software = strings.Repeat("n", maxNode), strings.Repeat("s", maxSoftware)
	m.Peer.Reason, m.Peer.Hears = strings.Repeat("r", maxReason), make([]Heard, maxHears)
	m.Peer.Spread.Ports, m.Peer.Spread.Left, m.Peer.Clients = mostPorts(), mostLeft(), someClients(50)
	b, err := m.Append(nil, 1)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(b)+auth.TrailerLen, envelope.MaxMessage)
	got, _, err := Parse(b)
	require.NoError(t, err)
	assert.Equal(t, m.Peer.Clients[:len(got.Peer.Clients)], got.Peer.Clients, "as many as there is room for")
}

func TestTypesHaveNames(t *testing.T) {
	assert.Equal(t, "HELLO REQUEST GRANT type 0", strings.Join([]string{Hello.String(), Request.String(), Grant.String(), Type(0).String()}, " "))
	assert.Equal(t, "initialize backup active", strings.Join([]string{vrrp.Initialize.String(), vrrp.Backup.String(), vrrp.Active.String()}, " "))
}

// FuzzParse wants of any input either an *envelope.PacketError or a message that says the same when it is sent again.
func FuzzParse(f *testing.F) {
	for _, tt := range wires() {
		f.Add(unhex(f, tt.bytes))
	}
	long := full()
	long.Peer.Router.Addresses, long.Peer.Router.MTU = 0x01020304, 1500
	b, err := long.Append(nil, 1)
	require.NoError(f, err)
	f.Add(b)
	long.Peer.Spread = spreadByIPv6()
	b, err = long.Append(nil, 1)
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, sequence, err := Parse(b)
		if err != nil {
			var packet *envelope.PacketError
			require.ErrorAs(t, err, &packet)
			return
		}
		if m.Type == Hello {
			m.Transfer = Transfer{}
		}
		again, err := m.Append(nil, sequence)
		require.NoError(t, err)
		got, gotSequence, err := Parse(again)
		require.NoError(t, err)
		assert.Equal(t, m, got)
		assert.Equal(t, sequence, gotSequence)
	})
}

// FuzzVerify wants that nothing but what was signed with the key passes.
func FuzzVerify(f *testing.F) {
	key := testKey(f, 1)
	now := time.Unix(1_800_000_000, 0)
	good, err := full().AppendSigned(nil, uint64(now.UnixNano()), &key, nodeA)
	require.NoError(f, err)
	f.Add(good)
	f.Add(good[:len(good)-auth.TrailerLen])
	f.Fuzz(func(t *testing.T, b []byte) {
		m, _, err := newAuth(t, now, key).verify(b, nodeA, now)
		if string(b) == string(good) {
			require.NoError(t, err)
			assert.Equal(t, full(), m)
			return
		}
		var packet *envelope.PacketError
		require.ErrorAs(t, err, &packet)
	})
}

func TestParseOfEachFlippedBitNeverPanics(t *testing.T) {
	b, err := full().Append(nil, 1)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		c := append([]byte(nil), b...)
		for range 1 + rng.IntN(4) {
			c[rng.IntN(len(c))] ^= 1 << rng.IntN(8)
		}
		_, _, _ = Parse(c[:rng.IntN(len(c)+1)])
	}
}
