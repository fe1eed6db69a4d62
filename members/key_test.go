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

func TestOpener(t *testing.T) {
	one, two := testKey(t, 1), testKey(t, 2)
	seal := func(key *Key, at time.Time) []byte {
		b, err := NewSealer(key).Append(nil, full(), nodeA, at)
		require.NoError(t, err)
		return b
	}
	flipped := seal(&one, epoch)
	flipped[len(flipped)-1] ^= 1
	changed := seal(&one, epoch)
	changed[headerLen+2]++
	for _, tt := range []struct {
		name string
		keys []Key
		give []byte
		from netip.Addr
		want Reason
	}{
		{"its key", []Key{one}, seal(&one, epoch), nodeA, ""},
		{"either of two keys", []Key{two, one}, seal(&one, epoch), nodeA, ""},
		{"another key", []Key{two}, seal(&one, epoch), nodeA, RejectKey},
		{"none where one is wanted", []Key{one}, seal(nil, epoch), nodeA, RejectUnsigned},
		{"one where none is wanted", nil, seal(&one, epoch), nodeA, ""},
		{"none", nil, seal(nil, epoch), nodeA, ""},
		{"a flipped bit of the code", []Key{one}, flipped, nodeA, RejectMAC},
		{"a changed field", []Key{one}, changed, nodeA, RejectMAC},
		{"another source", []Key{one}, seal(&one, epoch), nodeB, RejectMAC},
		{"old", []Key{one}, seal(&one, epoch.Add(-window-time.Second)), nodeA, RejectStale},
		{"ahead", []Key{one}, seal(&one, epoch.Add(window+time.Second)), nodeA, RejectStale},
		{"old without a key", nil, seal(nil, epoch.Add(-time.Hour)), nodeA, ""},
		{"a clock a little off", []Key{one}, seal(&one, epoch.Add(-window+time.Second)), nodeA, ""},
		{"garbage", []Key{one}, []byte("garbage"), nodeA, RejectLength},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewOpener(tt.keys, window).Open(tt.give, tt.from, epoch, epoch)
			assert.Equal(t, tt.want, reasonOf(t, err))
		})
	}
}

func TestOpenerRefusesReplays(t *testing.T) {
	key := testKey(t, 1)
	s, o := NewSealer(&key), NewOpener([]Key{key}, window)
	seal := func(at time.Duration) []byte {
		b, err := s.Append(nil, full(), nodeA, epoch.Add(at))
		require.NoError(t, err)
		return b
	}
	open := func(b []byte, at time.Duration) Reason {
		_, err := o.Open(b, nodeA, epoch.Add(at), epoch.Add(at))
		return reasonOf(t, err)
	}
	first, second := seal(0), seal(0)
	assert.Equal(t, Reason(""), open(first, 0))
	assert.Equal(t, RejectReplay, open(first, 0), "the same again")
	assert.Equal(t, Reason(""), open(second, 0), "two in one instant")
	assert.Equal(t, RejectReplay, open(first, 0), "an older one")
	stepped := seal(-24 * time.Hour)
	assert.Equal(t, Reason(""), open(stepped, time.Minute), "a known sender whose clock was set back goes on")
	assert.Equal(t, RejectReplay, open(second, time.Minute))
}

func TestSealerWithoutKeyAndWithANewOne(t *testing.T) {
	key := testKey(t, 1)
	s := NewSealer(nil)
	plainB, err := s.Append([]byte("x"), full(), nodeA, epoch)
	require.NoError(t, err)
	s.SetKey(&key)
	signed, err := s.Append([]byte("x"), full(), nodeA, epoch)
	require.NoError(t, err)
	assert.Len(t, signed, len(plainB)+trailerLen)
	_, err = NewOpener([]Key{key}, window).Open(signed[1:], nodeA, epoch, epoch)
	assert.NoError(t, err)
}
