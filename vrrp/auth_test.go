package vrrp

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
)

// draftKey is the key of the draft's test vectors: 00 01 02 .. 1f.
func draftKey() auth.Key {
	k := NewKey(1, nil)
	for i := range 32 {
		k.Secret = append(k.Secret, uint8(i))
	}
	return k
}

// draftTime is the vectors' time.
var draftTime = time.Unix(0x68000000, int64(time.Second/2))

func newVerifier(t testing.TB, window time.Duration, now time.Time, keys ...auth.Key) *Auth {
	t.Helper()
	a := NewAuth(auth.NewClock(now, nil))
	require.NoError(t, a.Set(auth.Config{Keys: keys, Window: window}))
	return a
}

func newSigner(t testing.TB, key auth.Key, now time.Time) *Auth {
	t.Helper()
	return newVerifier(t, time.Minute, now, key)
}

func assertRejected(t *testing.T, reason string, err error, args ...any) {
	t.Helper()
	var packet *PacketError
	if assert.ErrorAs(t, err, &packet, args...) {
		assert.Equal(t, reason, packet.Reason, args...)
	}
}

func TestKeyReproducesTheDraftsVectors(t *testing.T) {
	tests := []struct{ name, src, message, fixed, mac string }{
		{
			"IPv4", "198.51.100.10", "3133c80100644402c0000264",
			"010100006800000080000000", "1b84bc4e8e43892dc6d98448f8ee2265",
		},
		{
			"IPv6", "fe80::10", "3133c8010064a2e9fe800000000000000000000000000100",
			"010100006800000080000000", "c8c56146ebfd66ee10ec4d8186461b78",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mac := draftKey().Sum(covered(unhex(t, tt.message), unhex(t, tt.fixed), addr(tt.src))...)
			assert.Equal(t, unhex(t, tt.mac), mac[:macLen])
		})
	}
}

func TestVerifierReadsTheDraftsIPv4Vector(t *testing.T) {
	b := unhex(t, "3133c80100644402c0000264 010100006800000080000000 1b84bc4e8e43892dc6d98448f8ee2265")
	src := addr("198.51.100.10")
	a, form, err := newVerifier(t, time.Minute, draftTime, draftKey()).verify(b, src, group4, draftTime)
	require.NoError(t, err)
	assert.Equal(t, MessageOnly, form)
	assert.Equal(t, Advertisement{
		Version: 3, VRID: 51, Priority: 200, Interval: time.Second, Addresses: []netip.Addr{addr("192.0.2.100")},
	}, a)
}

func TestSignerReproducesTheDraftsIPv4Vector(t *testing.T) {
	s := newSigner(t, draftKey(), draftTime)
	a := Advertisement{Version: 3, VRID: 51, Priority: 200, Interval: time.Second, Addresses: []netip.Addr{addr("192.0.2.100")}}
	b, err := s.Append(nil, a, addr("198.51.100.10"), group4, MessageOnly, draftTime)
	require.NoError(t, err)
	assert.Equal(t, unhex(t, "3133c80100644402c0000264 010100006800000080000000 1b84bc4e8e43892dc6d98448f8ee2265"), b)
}

// signed returns each kind of advertisement, signed at now.
func signed(t *testing.T, now time.Time) []wire {
	t.Helper()
	all := wires()
	s := newSigner(t, draftKey(), now)
	for i, w := range all {
		b, err := s.Append(nil, w.want, w.src, w.dst, w.form, now)
		require.NoError(t, err)
		all[i].bytes = string(b)
	}
	return all
}

func TestVerifierReadsWhatSignerSigns(t *testing.T) {
	for _, w := range signed(t, draftTime) {
		t.Run(w.name, func(t *testing.T) {
			v := newVerifier(t, time.Minute, draftTime, draftKey())
			a, form, err := v.verify([]byte(w.bytes), w.src, w.dst, draftTime)
			require.NoError(t, err)
			assert.Equal(t, w.want, a)
			assert.Equal(t, w.form, form)

			_, _, err = v.verify([]byte(w.bytes), w.src, w.dst, draftTime)
			assertRejected(t, RejectReplay, err, "the same again")

			_, _, err = Parse([]byte(w.bytes), w.src, w.dst)
			assertRejected(t, RejectSigned, err, "by a router without a key")
		})
	}
}

func TestVerifierRefusesEachFlippedBit(t *testing.T) {
	for _, w := range signed(t, draftTime) {
		t.Run(w.name, func(t *testing.T) {
			b := []byte(w.bytes)
			v := newVerifier(t, time.Hour, draftTime, draftKey())
			for bit := range len(b) * 8 {
				b[bit/8] ^= 1 << (bit % 8)
				_, _, err := v.verify(b, w.src, w.dst, draftTime)
				assert.Error(t, err, "bit %d", bit)
				b[bit/8] ^= 1 << (bit % 8)
			}
			_, _, err := v.verify(b, w.src, w.dst, draftTime)
			assert.NoError(t, err, "what was refused left no trace")
		})
	}
}

func TestVerifierRefuses(t *testing.T) {
	now := draftTime
	w := signed(t, now)[5]
	other := draftKey()
	other.Secret[0]++
	second := draftKey()
	second.ID = "\x02"
	tests := []struct {
		name    string
		keys    []auth.Key
		at      time.Duration
		b       string
		src     netip.Addr
		want    string
		message string
	}{
		{"no trailer", []auth.Key{draftKey()}, 0, w.bytes[:12], w.src, RejectUnsigned, "vrrp: no authentication trailer, want one"},
		{"half a trailer", []auth.Key{draftKey()}, 0, w.bytes[:30], w.src, RejectLength, "vrrp: length 30, want 40"},
		{"unknown key", []auth.Key{second}, 0, w.bytes, w.src, RejectKey, "vrrp: authentication with key id 1, which is not configured"},
		{"another key", []auth.Key{other}, 0, w.bytes, w.src, RejectMAC, "vrrp: authentication code differs (another key with this id, or a changed packet)"},
		{"another source", []auth.Key{draftKey()}, 0, w.bytes, node2, RejectMAC, "vrrp: authentication code differs (another key with this id, or a changed packet)"},
		{"too old", []auth.Key{draftKey()}, 61 * time.Second, w.bytes, w.src, RejectStale, "vrrp: made 61s from our time, want at most 60s"},
		{"too new", []auth.Key{draftKey()}, -61 * time.Second, w.bytes, w.src, RejectStale, "vrrp: made 61s from our time, want at most 60s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newVerifier(t, time.Minute, now.Add(tt.at), tt.keys...)
			_, _, err := v.verify([]byte(tt.b), tt.src, w.dst, now.Add(tt.at))
			assertRejected(t, tt.want, err)
			assert.EqualError(t, err, tt.message)
		})
	}
}

func TestVerifierAcceptsBothKeysOfAChange(t *testing.T) {
	second := NewKey(2, make([]byte, 64))
	v := newVerifier(t, time.Minute, draftTime, draftKey(), second)
	for i, key := range []auth.Key{draftKey(), second, draftKey()} {
		now := draftTime.Add(time.Duration(i) * time.Second)
		s := newSigner(t, key, now)
		b, err := s.Append(nil, base().advertisement(100), node1, group4, PseudoHeader, now)
		require.NoError(t, err)
		_, _, err = v.verify(b, node1, group4, now)
		assert.NoError(t, err, "key %x", key.ID)
	}
}

func TestVerifierKeepsSendersApart(t *testing.T) {
	v := newVerifier(t, time.Minute, draftTime, draftKey())
	late := newSigner(t, draftKey(), draftTime)
	early := newSigner(t, draftKey(), draftTime.Add(-30*time.Second))

	b, err := late.Append(nil, base().advertisement(100), node1, group4, PseudoHeader, draftTime)
	require.NoError(t, err)
	_, _, err = v.verify(b, node1, group4, draftTime)
	require.NoError(t, err)
	b, err = early.Append(nil, base().advertisement(100), node2, group4, PseudoHeader, draftTime.Add(-30*time.Second))
	require.NoError(t, err)
	_, _, err = v.verify(b, node2, group4, draftTime)
	assert.NoError(t, err, "a clock that is 30 s behind is within the window")

	other := base().advertisement(100)
	other.VRID++
	behind := newSigner(t, draftKey(), draftTime.Add(-30*time.Second))
	b, err = behind.Append(nil, other, node1, group4, PseudoHeader, draftTime.Add(-30*time.Second))
	require.NoError(t, err)
	_, _, err = v.verify(b, node1, group4, draftTime)
	assert.NoError(t, err, "two processes of a host may have a Virtual Router each, and count by themselves")
}

// The sequence grows within one instant and when the given time runs backwards.
func TestSignerSequenceGrows(t *testing.T) {
	s := newSigner(t, draftKey(), draftTime)
	last := uint64(0)
	for _, off := range []time.Duration{0, 0, time.Nanosecond, -time.Second, 20 * time.Microsecond, time.Second, 0} {
		_, next := s.Next(draftTime.Add(off), sequenceOf)
		assert.Greater(t, next, last)
		last = next
	}
}

func TestSequenceKeepsTheTime(t *testing.T) {
	for _, want := range []time.Time{draftTime, time.Unix(1, 0), time.Unix(0xffffffff, 999999999)} {
		assert.WithinDuration(t, want, timeOf(sequenceOf(want)), 16*time.Microsecond)
	}
	assert.Equal(t, uint64(0x6800000080000000), sequenceOf(draftTime))
}

// The rules are auth.window's; here it is that they hold for advertisements.
func TestVerifierRefusesReplays(t *testing.T) {
	v := newVerifier(t, time.Minute, draftTime, draftKey())
	send := func(at, received time.Duration) error {
		s := newSigner(t, draftKey(), draftTime.Add(at))
		b, err := s.Append(nil, base().advertisement(100), node1, group4, PseudoHeader, draftTime.Add(at))
		require.NoError(t, err)
		_, _, err = v.verify(b, node1, group4, draftTime.Add(received))
		return err
	}
	assert.NoError(t, send(0, 0))
	assert.NoError(t, send(time.Second, time.Hour), "the sender was paused for an hour")
	assert.NoError(t, send(3*time.Hour, time.Hour), "its clock was stepped on")
	err := send(2*time.Hour, 2*time.Hour)
	assertRejected(t, RejectReplay, err)
	assert.EqualError(t, err, "vrrp: sequence 3600s before the sender's last, want a greater one")
	assert.NoError(t, send(3*time.Hour+time.Second, 3*time.Hour+40*time.Second), "late by less than the window")
	assertRejected(t, RejectStale, send(3*time.Hour+2*time.Second, 3*time.Hour+63*time.Second), "by more")
	require.NoError(t, v.Set(auth.Config{Keys: []auth.Key{draftKey()}, Window: time.Second}))
	assertRejected(t, RejectReplay, send(2*time.Hour, 2*time.Hour), "changing the keys forgets nobody")
}

func TestVerifierTellsSendersOfOneAddressOnTwoLinksApart(t *testing.T) {
	v := newVerifier(t, time.Minute, draftTime, draftKey())
	all := signed(t, draftTime)
	w := all[slices.IndexFunc(all, func(w wire) bool { return w.src.Is6() })]
	for _, zone := range []string{"2", "3"} {
		_, _, err := v.verify([]byte(w.bytes), w.src.WithZone(zone), w.dst, draftTime)
		assert.NoError(t, err)
	}
	_, _, err := v.verify([]byte(w.bytes), w.src.WithZone("2"), w.dst, draftTime)
	assertRejected(t, RejectReplay, err)
}

func TestAuthSetKeepsTheSequence(t *testing.T) {
	s := newSigner(t, draftKey(), draftTime)
	_, before := s.Next(draftTime, sequenceOf)
	require.NoError(t, s.Set(auth.Config{Keys: []auth.Key{NewKey(9, make([]byte, 32))}, Window: time.Minute}))
	assert.Error(t, s.Set(auth.Config{Keys: []auth.Key{NewKey(9, nil)}, Window: time.Minute}))
	key, after := s.Next(draftTime, sequenceOf)
	assert.Equal(t, "\x09", key.ID)
	assert.Greater(t, after, before)
}

func TestParseUnverifiedReadsWithAndWithoutTrailer(t *testing.T) {
	for _, w := range signed(t, draftTime) {
		b := []byte(w.bytes)
		b[len(b)-1] ^= 1 // not what the key says
		if w.src.Is6() {
			b = []byte(w.bytes) // there the checksum covers it
		}
		a, form, err := parseUnverified(b, w.src, w.dst)
		require.NoError(t, err, w.name)
		assert.Equal(t, w.want, a)
		assert.Equal(t, w.form, form)
	}
	for _, w := range wires() {
		a, _, err := parseUnverified(unhex(t, w.bytes), w.src, w.dst)
		require.NoError(t, err, w.name)
		assert.Equal(t, w.want, a)
	}
}

func FuzzAuthVerify(f *testing.F) {
	s := newSigner(f, draftKey(), draftTime)
	for _, w := range wires() {
		b, err := s.Append(nil, w.want, w.src, w.dst, w.form, draftTime)
		require.NoError(f, err)
		f.Add(b, w.src.AsSlice(), w.dst.AsSlice())
	}
	f.Fuzz(func(t *testing.T, b, srcBytes, dstBytes []byte) {
		src, _ := netip.AddrFromSlice(srcBytes)
		dst, _ := netip.AddrFromSlice(dstBytes)
		_, _, err := newVerifier(t, time.Minute, draftTime, draftKey()).verify(b, src, dst, draftTime)
		if err != nil {
			var packet *PacketError
			require.ErrorAs(t, err, &packet)
			assert.NotEmpty(t, packet.Error())
			return
		}
	})
}
