package auth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testKey(id string, secret int) Key { return Key{ID: id, Secret: make([]byte, secret)} }

func TestConfigValidate(t *testing.T) {
	for _, tt := range []struct {
		name string
		give Config
		want string // empty: valid
	}{
		{"no keys", Config{}, ""},
		{"two", Config{Keys: []Key{testKey("a", 32), testKey("b", 64)}, Window: time.Hour}, ""},
		{"a short one", Config{Keys: []Key{testKey("a", 31)}, Window: s}, "auth: key of 31 bytes, want 32 to 64 random bytes"},
		{"a long one", Config{Keys: []Key{testKey("a", 65)}, Window: s}, "auth: key of 65 bytes, want 32 to 64 random bytes"},
		{"one id twice", Config{Keys: []Key{testKey("\x01", 32), testKey("\x01", 32)}, Window: s}, "auth: key id 01 is there twice, want each once"},
		{"no window", Config{Keys: []Key{testKey("a", 32)}}, "auth: time window 0s, want more than 0s and at most 1h0m0s"},
		{"a long window", Config{Keys: []Key{testKey("a", 32)}, Window: time.Hour + 1}, "auth: time window 1h0m0.000000001s, want more than 0s and at most 1h0m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.give.Validate(); tt.want != "" {
				assert.EqualError(t, err, tt.want)
			} else {
				assert.NoError(t, err)
			}
		})
	}
}

func TestKeyringSignsByItsMode(t *testing.T) {
	k := NewKeyring[string](NewClock(epoch, nil))
	second := func(t time.Time) uint64 { return uint64(t.Unix()) }
	key, first := k.Next(epoch, second)
	assert.Nil(t, key)
	for i, mode := range []Mode{Enforce, Permissive, ReceiveOnly} {
		require.NoError(t, k.Set(Config{Keys: []Key{testKey("a", 32), testKey("b", 32)}, Mode: mode, Window: s}))
		key, sequence := k.Next(epoch.Add(-time.Hour), second)
		assert.Equal(t, first+uint64(i)+1, sequence, "it goes on")
		if mode == ReceiveOnly {
			assert.Nil(t, key)
			continue
		}
		assert.Equal(t, "a", key.ID)
	}
}

func TestKeyringRemembersNothingOfAMalformedPacket(t *testing.T) {
	k := NewKeyring[string](NewClock(epoch, nil))
	require.NoError(t, k.Set(Config{Keys: []Key{testKey("a", 32)}, Window: s}))
	for _, tt := range []struct {
		wellFormed bool
		want       Judgement
	}{{false, Fresh}, {true, Fresh}, {true, Repeated}, {false, Repeated}} {
		verdict, _ := k.Judge("sender", 1, epoch, epoch, tt.wellFormed)
		assert.Equal(t, tt.want, verdict)
	}
}

func TestKeyringGenuine(t *testing.T) {
	k := NewKeyring[string](NewClock(epoch, nil))
	key := testKey("a", 32)
	code := key.Sum([]byte("one"), []byte("two"))
	assert.Equal(t, UnknownKey, k.Genuine([]byte("a"), code, []byte("onetwo")))
	require.NoError(t, k.Set(Config{Keys: []Key{key}, Window: s}))
	assert.Equal(t, Fresh, k.Genuine([]byte("a"), code, []byte("onetwo")))
	assert.Equal(t, Fresh, k.Genuine([]byte("a"), code[:16], []byte("onetwo")))
	assert.Equal(t, Forged, k.Genuine([]byte("a"), code, []byte("onethree")))
	assert.Equal(t, UnknownKey, k.Genuine([]byte("b"), code, []byte("onetwo")))
}
