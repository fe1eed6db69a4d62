package envelope

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
)

func message(fill ...byte) []byte {
	return Header{Type: 2, Session: 3, Sequence: 4}.Append(nil, func(b []byte) []byte { return append(b, fill...) })
}

func TestHeaderIsReadAsItWasWritten(t *testing.T) {
	b := Header{Type: 2, Session: 3, Sequence: 4}.Append([]byte("before"), func(b []byte) []byte { return AppendField(b, uint8(9), []byte("xy")) })
	b = b[len("before"):]
	assert.Equal(t, "kpvp\x01\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x09\x02xy", string(b))
	for _, code := range []int{0, auth.TrailerLen} {
		h, end, err := Open(append(b, make([]byte, code)...), 1, 3)
		require.NoError(t, err)
		assert.Equal(t, Header{Type: 2, Session: 3, Sequence: 4}, h)
		assert.Equal(t, len(b), end)
	}
}

func TestOpenRefuses(t *testing.T) {
	change := func(at int, v byte) []byte { b := message(); b[at] = v; return b }
	for name, tt := range map[string]struct {
		give []byte
		want Reason
	}{
		"nothing":        {nil, RejectLength},
		"short":          {message()[:HeaderLen-1], RejectLength},
		"too long":       {message(make([]byte, MaxMessage)...), RejectLength},
		"magic":          {change(1, 'x'), RejectMagic},
		"version":        {change(4, Version+1), RejectVersion},
		"length":         {change(7, 1), RejectLength},
		"type too small": {change(5, 1), RejectType},
		"type too great": {change(5, 4), RejectType},
		"half of a code": {append(message(), make([]byte, auth.TrailerLen-1)...), RejectLength},
		"more than one":  {append(message(), make([]byte, auth.TrailerLen+1)...), RejectLength},
	} {
		_, _, err := Open(tt.give, 2, 3)
		var packet *PacketError
		require.ErrorAs(t, err, &packet, name)
		assert.Equal(t, tt.want, packet.Reason, name)
	}
}

func TestFieldsAreTakenInTurn(t *testing.T) {
	var got []string
	take := func(f uint8, value []byte) error {
		got = append(got, string('a'+rune(f))+string(value))
		return nil
	}
	require.NoError(t, Fields([]byte("\x01\x02xy\x02\x00"), take))
	assert.Equal(t, []string{"bxy", "c"}, got)
	assert.ErrorContains(t, Fields([]byte("\x01\x03xy"), take), "length")
	assert.ErrorContains(t, Fields([]byte("\x01"), take), "length")
	stop := errors.New("enough")
	assert.Equal(t, stop, Fields([]byte("\x01\x00\x02\x00"), func(f uint8, _ []byte) error {
		assert.EqualValues(t, 1, f, "nothing is taken after an error")
		return stop
	}))
}

func TestWhichAddressesTheWireCarries(t *testing.T) {
	for text, want := range map[string][2]bool{ // plain, and of another host
		"10.77.0.1": {true, true}, "fd77::1": {true, true}, "fe80::1": {true, true}, "224.0.0.18": {true, false}, "ff02::12": {true, false},
		"127.0.0.1": {true, false}, "::1": {true, false}, "255.255.255.255": {true, false}, "0.0.0.0": {}, "::": {}, "fe80::1%eth0": {}, "::ffff:10.77.0.1": {},
	} {
		a := netip.MustParseAddr(text)
		assert.Equal(t, want, [2]bool{Plain(a), Host(a)}, text)
	}
	_, ok := Addr([]byte{10, 77, 0})
	assert.False(t, ok)
}

func FuzzOpen(f *testing.F) {
	f.Add(message(1, 1, 7))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, end, err := Open(b, 1, 6)
		if err != nil {
			assert.IsType(t, &PacketError{}, err)
			return
		}
		var fields []byte
		if Fields(b[HeaderLen:end], func(f uint8, value []byte) error { fields = AppendField(fields, f, value); return nil }) == nil {
			assert.Equal(t, b[:end], h.Append(nil, func(b []byte) []byte { return append(b, fields...) }))
		}
	})
}
