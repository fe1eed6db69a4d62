package pulse

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/checksum"
	"github.com/keepvip/keepvip/members/envelope"
)

func messages() []Message {
	v4, v6 := netip.MustParseAddr("10.77.0.11"), netip.MustParseAddr("fe80::11")
	return []Message{
		{Type: Beat, Session: 7, Number: 1 << 31, Every: Every},
		{Type: Beat, Session: 7, Number: 9, Every: time.Second, Last: true},
		{Type: Ask, Session: 8, About: v4},
		{Type: Word, Session: 1<<64 - 1, About: v6, There: true},
		{Type: Word, Session: 9, About: v4},
	}
}

func TestMessageIsReadAsItWasWritten(t *testing.T) {
	for _, want := range messages() {
		b := want.Append([]byte("before"), 42)[len("before"):]
		require.True(t, Is(b))
		got, sequence, err := Parse(b)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.EqualValues(t, 42, sequence)
	}
	assert.Equal(t, "kpvp\x01\x07\x00\x09\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x2a\x18\x07\x00\x00\x00\x03\x00\x1e\x00",
		string(Message{Type: Beat, Session: 7, Number: 3, Every: Every}.Append(nil, 42)), "as docs/protocol.md has it")
}

func TestParseRefuses(t *testing.T) {
	of := func(m Type, fields ...byte) []byte {
		return envelope.Header{Type: uint8(m), Session: 1, Sequence: 2}.Append(nil, func(b []byte) []byte { return append(b, fields...) })
	}
	for name, tt := range map[string]struct {
		give []byte
		want envelope.Reason
	}{
		"nothing":             {nil, envelope.RejectLength},
		"a HELLO":             {of(1), envelope.RejectType},
		"a later type":        {of(10), envelope.RejectType},
		"no fields":           {of(Beat), envelope.RejectField},
		"a short beat":        {of(Beat, 24, 6, 0, 0, 0, 1, 0, 30), envelope.RejectField},
		"no time between two": {of(Beat, 24, 7, 0, 0, 0, 1, 0, 0, 0), envelope.RejectField},
		"twice":               {of(Ask, 25, 4, 10, 0, 0, 1, 25, 4, 10, 0, 0, 1), envelope.RejectField},
		"no address":          {of(Ask, 25, 3, 10, 0, 0), envelope.RejectField},
		"nothing found":       {of(Word, 25, 4, 10, 0, 0, 1), envelope.RejectField},
		"an empty finding":    {of(Word, 25, 4, 10, 0, 0, 1, 26, 0), envelope.RejectField},
		"a field cut short":   {of(Ask, 25, 9, 10), envelope.RejectLength},
	} {
		_, _, err := Parse(tt.give)
		var packet *envelope.PacketError
		require.ErrorAs(t, err, &packet, name)
		assert.Equal(t, tt.want, packet.Reason, name)
	}
	_, _, err := Parse(of(Ask, 25, 4, 10, 0, 0, 1, 99, 1, 5))
	assert.NoError(t, err, "of a later version")
}

func FuzzParse(f *testing.F) {
	for _, m := range messages() {
		f.Add(m.Append(nil, 1))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, sequence, err := Parse(b)
		if err != nil {
			assert.IsType(t, &envelope.PacketError{}, err)
			return
		}
		again, s, err := Parse(m.Append(nil, sequence))
		require.NoError(t, err)
		assert.Equal(t, m, again)
		assert.Equal(t, sequence, s)
	})
}

func TestEchoIsAnsweredByWhoHasSeenIt(t *testing.T) {
	cookie := [cookieLen]byte{1, 2, 3, 4, 5, 6, 7, 8}
	for _, v6 := range []bool{false, true} {
		answer := func(change func(b []byte)) []byte {
			b := appendEcho(nil, v6, 0x102, 9, cookie, time.Second)
			b[0] = reply6
			if !v6 {
				b[0] = reply4
			}
			change(b)
			if !v6 {
				b = append(append([]byte{0x45}, make([]byte, 19)...), b...)
			}
			return b
		}
		sent, ok := parseReply(answer(func([]byte) {}), v6, 0x102, cookie)
		assert.True(t, ok)
		assert.Equal(t, time.Second, sent)
		for name, change := range map[string]func(b []byte){
			"a request":           func(b []byte) { b[0] = request4 },
			"another code":        func(b []byte) { b[1] = 1 },
			"another socket's":    func(b []byte) { b[5]++ },
			"an invented one":     func(b []byte) { b[icmpHeader]++ },
			"of a time before it": func(b []byte) { b[icmpHeader+cookieLen] = 0xff },
		} {
			_, ok := parseReply(answer(change), v6, 0x102, cookie)
			assert.False(t, ok, name)
		}
	}
	b := appendEcho(nil, false, 0x102, 9, cookie, time.Second)
	assert.Equal(t, uint16(0xffff), checksum.Fold(checksum.Add(0, b)), "with its checksum the sum is 0")
}

func FuzzParseReply(f *testing.F) {
	cookie := [cookieLen]byte{1}
	f.Add(appendEcho(nil, true, 1, 2, cookie, time.Second), true)
	f.Add(append(append([]byte{0x45}, make([]byte, 19)...), appendEcho(nil, false, 1, 2, cookie, time.Second)...), false)
	f.Fuzz(func(t *testing.T, b []byte, v6 bool) {
		if sent, ok := parseReply(b, v6, 1, cookie); ok {
			assert.GreaterOrEqual(t, sent, time.Duration(0))
		}
	})
}
