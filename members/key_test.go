package members

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testKey(t testing.TB, seed byte) Key {
	t.Helper()
	k, err := NewKey(bytes.Repeat([]byte{seed}, minSecret))
	require.NoError(t, err)
	return k
}

func reasonOf(t *testing.T, err error) Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	var packet *PacketError
	require.ErrorAs(t, err, &packet)
	return packet.Reason
}

var epoch = time.Unix(1_800_000_000, 0)

const window = 30 * time.Second

func TestNewKeyRefusesWrongLengths(t *testing.T) {
	for _, n := range []int{0, 31, 65} {
		_, err := NewKey(make([]byte, n))
		assert.ErrorContains(t, err, "want 32 to 64 random bytes")
	}
}

func TestVerifier(t *testing.T) {
	one, two := testKey(t, 1), testKey(t, 2)
	sign := func(key *Key, at time.Time) []byte {
		b, err := NewSigner(key).Append(nil, full(), nodeA, at)
		require.NoError(t, err)
		return b
	}
	flipped := sign(&one, epoch)
	flipped[len(flipped)-1] ^= 1
	changed := sign(&one, epoch)
	changed[headerLen+2]++
	for _, tt := range []struct {
		name string
		keys []Key
		give []byte
		from netip.Addr
		want Reason
	}{
		{"its key", []Key{one}, sign(&one, epoch), nodeA, ""},
		{"either of two keys", []Key{two, one}, sign(&one, epoch), nodeA, ""},
		{"another key", []Key{two}, sign(&one, epoch), nodeA, RejectKey},
		{"none where one is wanted", []Key{one}, sign(nil, epoch), nodeA, RejectUnsigned},
		{"one where none is wanted", nil, sign(&one, epoch), nodeA, ""},
		{"none", nil, sign(nil, epoch), nodeA, ""},
		{"a flipped bit of the code", []Key{one}, flipped, nodeA, RejectMAC},
		{"a changed field", []Key{one}, changed, nodeA, RejectMAC},
		{"another source", []Key{one}, sign(&one, epoch), nodeB, RejectMAC},
		{"old", []Key{one}, sign(&one, epoch.Add(-window-time.Second)), nodeA, RejectStale},
		{"ahead", []Key{one}, sign(&one, epoch.Add(window+time.Second)), nodeA, RejectStale},
		{"old without a key", nil, sign(nil, epoch.Add(-time.Hour)), nodeA, ""},
		{"a clock a little off", []Key{one}, sign(&one, epoch.Add(-window+time.Second)), nodeA, ""},
		{"garbage", []Key{one}, []byte("garbage"), nodeA, RejectLength},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewVerifier(tt.keys, window).Verify(tt.give, tt.from, epoch, epoch)
			assert.Equal(t, tt.want, reasonOf(t, err))
		})
	}
}

func TestVerifierRefusesReplays(t *testing.T) {
	key := testKey(t, 1)
	s, o := NewSigner(&key), NewVerifier([]Key{key}, window)
	sign := func(at time.Duration) []byte {
		b, err := s.Append(nil, full(), nodeA, epoch.Add(at))
		require.NoError(t, err)
		return b
	}
	open := func(b []byte, at time.Duration) Reason {
		_, err := o.Verify(b, nodeA, epoch.Add(at), epoch.Add(at))
		return reasonOf(t, err)
	}
	first, second := sign(0), sign(0)
	assert.Equal(t, Reason(""), open(first, 0))
	assert.Equal(t, RejectReplay, open(first, 0), "the same again")
	assert.Equal(t, Reason(""), open(second, 0), "two in one instant")
	assert.Equal(t, RejectReplay, open(first, 0), "an older one")
	stepped := sign(-24 * time.Hour)
	assert.Equal(t, Reason(""), open(stepped, time.Minute), "a known sender whose clock was set back goes on")
	assert.Equal(t, RejectReplay, open(second, time.Minute))
}

func TestSignerWithoutKeyAndWithANewOne(t *testing.T) {
	key := testKey(t, 1)
	s := NewSigner(nil)
	plainB, err := s.Append([]byte("x"), full(), nodeA, epoch)
	require.NoError(t, err)
	s.SetKey(&key)
	signed, err := s.Append([]byte("x"), full(), nodeA, epoch)
	require.NoError(t, err)
	assert.Len(t, signed, len(plainB)+trailerLen)
	_, err = NewVerifier([]Key{key}, window).Verify(signed[1:], nodeA, epoch, epoch)
	assert.NoError(t, err)
}
