package members

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/members/envelope"
)

func testKey(t testing.TB, seed byte) auth.Key {
	t.Helper()
	k, err := NewKey(bytes.Repeat([]byte{seed}, 32))
	require.NoError(t, err)
	return k
}

func reasonOf(t *testing.T, err error) Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	var packet *envelope.PacketError
	require.ErrorAs(t, err, &packet)
	return packet.Reason
}

var epoch = time.Unix(1_800_000_000, 0)

const window = 30 * time.Second

// newAuth makes an Auth at the epoch, or at now.
func newAuth(t testing.TB, now time.Time, keys ...auth.Key) *Auth {
	t.Helper()
	a := NewAuth(auth.NewClock(now, nil))
	require.NoError(t, a.Set(auth.Config{Keys: keys, Window: window}))
	return a
}

func TestNewKeyRefusesWrongLengths(t *testing.T) {
	for _, n := range []int{0, 31, 65} {
		_, err := NewKey(make([]byte, n))
		assert.ErrorContains(t, err, "want 32 to 64 random bytes")
	}
}

// signer makes messages of nodeA.
func signer(t *testing.T) func(key *auth.Key, at time.Time) []byte {
	return func(key *auth.Key, at time.Time) []byte {
		t.Helper()
		b, err := full().AppendSigned(nil, uint64(at.UnixNano()), key, nodeA)
		require.NoError(t, err)
		return b
	}
}

func TestAuthVerifies(t *testing.T) {
	one, two := testKey(t, 1), testKey(t, 2)
	sign := signer(t)
	flipped := sign(&one, epoch)
	flipped[len(flipped)-1] ^= 1
	changed := sign(&one, epoch)
	changed[envelope.HeaderLen+2]++
	for _, tt := range []struct {
		name string
		keys []auth.Key
		give []byte
		from netip.Addr
		want Reason
	}{
		{"its key", []auth.Key{one}, sign(&one, epoch), nodeA, ""},
		{"either of two keys", []auth.Key{two, one}, sign(&one, epoch), nodeA, ""},
		{"another key", []auth.Key{two}, sign(&one, epoch), nodeA, RejectKey},
		{"none where one is wanted", []auth.Key{one}, sign(nil, epoch), nodeA, RejectUnsigned},
		{"one where none is wanted", nil, sign(&one, epoch), nodeA, ""},
		{"none", nil, sign(nil, epoch), nodeA, ""},
		{"a flipped bit of the code", []auth.Key{one}, flipped, nodeA, RejectMAC},
		{"a changed field", []auth.Key{one}, changed, nodeA, RejectMAC},
		{"another source", []auth.Key{one}, sign(&one, epoch), nodeB, RejectMAC},
		{"old", []auth.Key{one}, sign(&one, epoch.Add(-window-time.Second)), nodeA, RejectStale},
		{"ahead", []auth.Key{one}, sign(&one, epoch.Add(window+time.Second)), nodeA, RejectStale},
		{"old without a key", nil, sign(nil, epoch.Add(-time.Hour)), nodeA, ""},
		{"a clock a little off", []auth.Key{one}, sign(&one, epoch.Add(-window+time.Second)), nodeA, ""},
		{"garbage", []auth.Key{one}, []byte("garbage"), nodeA, envelope.RejectLength},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := newAuth(t, epoch, tt.keys...).verify(tt.give, tt.from, epoch)
			assert.Equal(t, tt.want, reasonOf(t, err))
		})
	}
}

func TestAuthRefusesReplays(t *testing.T) {
	key := testKey(t, 1)
	s, o := newAuth(t, epoch, key), newAuth(t, epoch, key)
	sign := func(at time.Duration) []byte {
		b, err := s.sign(nil, full(), nodeA, epoch.Add(at))
		require.NoError(t, err)
		return b
	}
	open := func(b []byte, at time.Duration) Reason {
		_, _, err := o.verify(b, nodeA, epoch.Add(at))
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

func TestAuthSignsWithoutKeyAndWithANewOne(t *testing.T) {
	key := testKey(t, 1)
	s := newAuth(t, epoch)
	plainB, err := s.sign([]byte("x"), full(), nodeA, epoch)
	require.NoError(t, err)
	require.NoError(t, s.Set(auth.Config{Keys: []auth.Key{key}, Mode: auth.Permissive, Window: window}))
	signed, err := s.sign([]byte("x"), full(), nodeA, epoch)
	require.NoError(t, err)
	assert.Len(t, signed, len(plainB)+auth.TrailerLen)
	_, _, err = newAuth(t, epoch, key).verify(signed[1:], nodeA, epoch)
	assert.NoError(t, err)
}

// While a key is being introduced, a message that enforce would refuse is taken, and the reason is told.
func TestAuthDoubtsWhatEnforceWouldRefuse(t *testing.T) {
	one, two := testKey(t, 1), testKey(t, 2)
	sign := signer(t)
	flipped := sign(&one, epoch)
	flipped[len(flipped)-1] ^= 1
	for _, tt := range []struct {
		name                    string
		give                    []byte
		permissive, receiveOnly Reason
	}{
		{"its key", sign(&one, epoch), "", ""},
		{"no code", sign(nil, epoch), RejectUnsigned, ""},
		{"another key", sign(&two, epoch), RejectKey, RejectKey},
		{"a flipped bit of the code", flipped, RejectMAC, RejectMAC},
		{"old", sign(&one, epoch.Add(-window-time.Second)), RejectStale, RejectStale},
	} {
		for mode, want := range map[auth.Mode]Reason{auth.Permissive: tt.permissive, auth.ReceiveOnly: tt.receiveOnly} {
			a := newAuth(t, epoch)
			require.NoError(t, a.Set(auth.Config{Keys: []auth.Key{one}, Mode: mode, Window: window}))
			m, by, err := a.verify(tt.give, nodeA, epoch)
			require.NoError(t, err, tt.name)
			assert.Equal(t, full(), m, tt.name)
			assert.Equal(t, want, by.doubt, "%s, mode %d", tt.name, mode)
			_, _, err = a.verify([]byte("garbage"), nodeA, epoch)
			assert.Equal(t, envelope.RejectLength, reasonOf(t, err), "a mode permits no garbage")
		}
	}
	_, by, err := newAuth(t, epoch, one).verify(sign(&one, epoch), nodeA, epoch)
	assert.NoError(t, err)
	assert.True(t, by.signed)
	_, by, err = newAuth(t, epoch).verify(sign(nil, epoch), nodeA, epoch)
	assert.NoError(t, err)
	assert.False(t, by.signed)
	assert.Empty(t, by.doubt, "without a key there is nothing to be introduced")
}
