package subscription

import (
	"crypto/sha256"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/slots"
)

var group = netip.MustParseAddr("10.77.0.100")

func own(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, byte(10 + i)}) }

// aMember is the i-th of several.
func aMember(i int) Member {
	return Member{
		Address: own(i), Other: netip.MustParseAddr("fd77::11"), Node: "cp-1", Weight: 200, Age: 30 * time.Millisecond, Lifetime: 350 * time.Millisecond,
		Ports: []Port{{Protocol: 6, Port: 6443, Condition: slots.Fit}, {Protocol: 17, Port: 53, Condition: slots.Keeps}},
	}
}

func aList() Message {
	self, other := aMember(1), aMember(2)
	self.Self, self.Age, other.Other = true, 0, netip.Addr{}
	return Message{Type: Members, Session: 1, Sequence: 2, Group: group, List: List{Lease: lease, Every: leastEvery, Members: []Member{self, other}}}
}

func aKey(t testing.TB, b byte) *auth.Key {
	t.Helper()
	k, err := NewKey([]byte(strings.Repeat(string(rune(b)), 32)))
	require.NoError(t, err)
	return &k
}

func TestMessageIsReadAsItWasWritten(t *testing.T) {
	for name, m := range map[string]Message{
		"first SUBSCRIBE":        {Type: Subscribe, Session: 7, Sequence: 1, Group: group},
		"SUBSCRIBE with a cooky": {Type: Subscribe, Session: 7, Sequence: 2, Group: netip.MustParseAddr("fd77::100"), Cookie: [cookieLen]byte{1, 2}, Node: "w-1"},
		"SUBSCRIBE with a count": {Type: Subscribe, Session: 7, Sequence: 2, Group: group, Connections: &[]uint32{70000}[0]},
		"COOKIE":                 {Type: Cookie, Session: 7, Sequence: 1, Group: group, Cookie: [cookieLen]byte{3}},
		"MEMBERS":                aList(),
	} {
		for _, key := range []*auth.Key{nil, aKey(t, 'a')} {
			b, err := m.Append(nil, key)
			require.NoError(t, err, name)
			assert.True(t, Is(b), name)
			var keys []auth.Key
			if key != nil {
				keys = []auth.Key{*aKey(t, 'b'), *key}
			}
			got, by, err := Parse(b, keys)
			require.NoError(t, err, name)
			assert.Equal(t, m, got, name)
			assert.Equal(t, key, by, name)
		}
	}
}

// The example of docs/protocol.md.
func TestMessageOnTheWire(t *testing.T) {
	b, err := Message{Type: Subscribe, Session: 1, Sequence: 2, Group: group, Node: "w-1"}.Append(nil, nil)
	require.NoError(t, err)
	want := "kpvp\x01\x04\x00\x1d" + "\x00\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x00\x00\x00\x00\x02" +
		"\x01\x04\x0a\x4d\x00\x64" + "\x10\x10" + strings.Repeat("\x00", 16) + "\x03\x03w-1"
	assert.Equal(t, want, string(b))
}

func TestLongestMessageFitsIntoAFrame(t *testing.T) {
	m := aList()
	m.Group, m.List.Members = netip.MustParseAddr("fd77::100"), nil
	for i := range mostMembers {
		o := aMember(i)
		o.Self, o.Address, o.Node, o.Ports = i == 0, netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(i)}), strings.Repeat("n", maxNode), nil
		for p := range mostPorts {
			o.Ports = append(o.Ports, Port{Protocol: 6, Port: uint16(p + 1)})
		}
		m.List.Members = append(m.List.Members, o)
	}
	b, err := m.Append(nil, aKey(t, 'a'))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(b), envelope.MaxMessage)
}

func TestMessageThatTheWireCannotCarry(t *testing.T) {
	for name, edit := range map[string]func(*Message){
		"type":             func(m *Message) { m.Type = 3 },
		"no group":         func(m *Message) { m.Group = netip.Addr{} },
		"nobody is self":   func(m *Message) { m.List.Members[0].Self = false },
		"two are self":     func(m *Message) { m.List.Members[1].Self = true },
		"member twice":     func(m *Message) { m.List.Members[1].Address = m.List.Members[0].Address },
		"loopback":         func(m *Message) { m.List.Members[1].Address = netip.MustParseAddr("127.0.0.1") },
		"multicast":        func(m *Message) { m.List.Members[0].Other = netip.MustParseAddr("ff02::1") },
		"port twice":       func(m *Message) { m.List.Members[0].Ports[1] = m.List.Members[0].Ports[0] },
		"port 0":           func(m *Message) { m.List.Members[0].Ports[0].Port = 0 },
		"unknown state":    func(m *Message) { m.List.Members[0].Ports[0].Condition = 3 },
		"no lease":         func(m *Message) { m.List.Lease = 0 },
		"no interval":      func(m *Message) { m.List.Every = 0 },
		"age":              func(m *Message) { m.List.Members[1].Age = Never + 1 },
		"too many members": func(m *Message) { m.List.Members = make([]Member, mostMembers+1) },
	} {
		m := aList()
		edit(&m)
		_, err := m.Append(nil, nil)
		assert.ErrorContains(t, err, "subscription: ", name)
	}
}

func TestParseRefuses(t *testing.T) {
	genuine, err := aList().Append(nil, aKey(t, 'a'))
	require.NoError(t, err)
	plain, err := Message{Type: Cookie, Session: 7, Group: group}.Append(nil, nil)
	require.NoError(t, err)
	change := func(b []byte, at int, v byte) []byte {
		b = append([]byte{}, b...)
		b[at] = v
		return b
	}
	count := func(b []byte, value ...byte) []byte {
		b = envelope.AppendField(append([]byte{}, b...), fieldCount, value)
		b[7] += uint8(2 + len(value))
		return b
	}
	for name, tt := range map[string]struct {
		give []byte
		want envelope.Reason
	}{
		"nothing":               {nil, envelope.RejectLength},
		"short":                 {plain[:envelope.HeaderLen-1], envelope.RejectLength},
		"cut":                   {plain[:len(plain)-1], envelope.RejectLength},
		"long":                  {make([]byte, envelope.MaxMessage+1), envelope.RejectLength},
		"magic":                 {change(plain, 0, 'x'), envelope.RejectMagic},
		"version":               {change(plain, 4, 2), envelope.RejectVersion},
		"HELLO":                 {change(plain, 5, 1), envelope.RejectType},
		"unknown type":          {change(plain, 5, 7), envelope.RejectType},
		"other key":             {change(genuine, len(genuine)-auth.TrailerLen, 0xff), envelope.RejectKey},
		"changed":               {change(genuine, envelope.HeaderLen+9, 0xff), envelope.RejectMAC},
		"no code of ours":       {change(genuine, len(genuine)-1, genuine[len(genuine)-1]+1), envelope.RejectMAC},
		"no cookie":             {change(plain, envelope.HeaderLen+6, 99), envelope.RejectField},
		"field beyond end":      {change(plain, envelope.HeaderLen+7, 200), envelope.RejectLength},
		"a cookie with a count": {count(plain, 0, 0, 0, 1), envelope.RejectField},
		"count of a bad size":   {change(count(plain, 0, 1), 5, uint8(Subscribe)), envelope.RejectField},
		"group of a bad size":   {change(change(plain, envelope.HeaderLen+1, 3), envelope.HeaderLen+5, 99), envelope.RejectField},
	} {
		_, _, err := Parse(tt.give, []auth.Key{*aKey(t, 'a')})
		var packet *envelope.PacketError
		if assert.ErrorAs(t, err, &packet, name) {
			assert.Equal(t, tt.want, packet.Reason, name)
		}
	}
}

func TestFieldsOfALaterVersionAreSkipped(t *testing.T) {
	b, err := Message{Type: Cookie, Session: 7, Group: group}.Append(nil, nil)
	require.NoError(t, err)
	b = append(b, 200, 2, 1, 2)
	b[7] += 4
	m, _, err := Parse(b, nil)
	require.NoError(t, err)
	assert.Equal(t, group, m.Group)
}

// Who has the followers' key can sign nothing that a member takes from a member: another label, and other types.
func TestKeyOfFollowersIsNoOther(t *testing.T) {
	secret := []byte(strings.Repeat("s", 32))
	k, err := NewKey(secret)
	require.NoError(t, err)
	assert.Len(t, k.ID, auth.IDLen)
	assert.Len(t, k.Secret, sha256.Size)
	assert.NotEqual(t, string(secret), string(k.Secret))
	_, err = NewKey(secret[1:])
	assert.ErrorContains(t, err, "31 bytes")
}

func FuzzParse(f *testing.F) {
	for _, m := range []Message{{Type: Subscribe, Group: group, Node: "w", Connections: &[]uint32{1}[0]}, {Type: Cookie, Group: group}, aList()} {
		for _, key := range []*auth.Key{nil, aKey(f, 'a')} {
			b, err := m.Append(nil, key)
			require.NoError(f, err)
			f.Add(b)
		}
	}
	keys := []auth.Key{*aKey(f, 'a')}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, by, err := Parse(b, keys)
		if err != nil {
			assert.IsType(t, &envelope.PacketError{}, err)
			return
		}
		again, err := m.Append(nil, by)
		require.NoError(t, err, "what is read can be written")
		got, _, err := Parse(again, keys)
		require.NoError(t, err)
		assert.Equal(t, m, got)
	})
}
