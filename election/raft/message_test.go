package raft

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

func TestMessageThereAndBack(t *testing.T) {
	give := message{Kind: askHello, From: addr(0), ID: "x", Priority: 7, Reason: "why", Leader: addr(1), Term: 9, Unreached: []unreached{{"api", election.Unreached{Holder: addr(1), Never: true}}}}
	var wire bytes.Buffer
	require.NoError(t, writeMessage(&wire, give))
	got, err := readMessage(&wire)
	require.NoError(t, err)
	assert.Equal(t, give, got)
}

func TestMessageRefuses(t *testing.T) {
	for name, give := range map[string]string{
		"nothing":         "\x00\x00\x00\x00",
		"too long":        "\xff\xff\xff\xff",
		"cut":             "\x00\x00\x00\x10{}",
		"no JSON":         "\x00\x00\x00\x04junk",
		"from nobody":     "\x00\x00\x00\x02{}",
		"mapped address":  "\x00\x00\x00\x1c{\"from\":\"::ffff:10.77.0.11\"}",
		"no holder":       "\x00\x00\x00\x3b{\"from\":\"10.77.0.11\",\"unreached\":[{\"holder\":\"fe80::1%lo\"}]}",
		"zone in subject": "\x00\x00\x00\x2c{\"from\":\"10.77.0.11\",\"subject\":\"fe80::1%lo\"}",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readMessage(bytes.NewReader([]byte(give)))
			assert.Error(t, err)
		})
	}
}

func FuzzMessage(f *testing.F) {
	var wire bytes.Buffer
	require.NoError(f, writeMessage(&wire, message{Kind: askHello, From: addr(0), ID: "x", Leader: addr(1)}))
	named := message{Kind: askHello, From: addr(0), Reason: "vip: the health check fails", Code: code.CheckFailed, Node: "cp-1", Software: "v1"}
	f.Add(bytes.Clone(wire.Bytes()))
	wire.Reset()
	require.NoError(f, writeMessage(&wire, named))
	f.Add(bytes.Clone(wire.Bytes()))
	f.Add([]byte("\x00\x00\x00\x02{}"))
	wire.Reset()
	require.NoError(f, writeMessage(&wire, message{Kind: askHello, From: addr(0), Spread: []spread{{group, *spreadHere()}}}))
	f.Add(wire.Bytes())
	wire.Reset()
	require.NoError(f, writeMessage(&wire, message{Kind: askHello, From: addr(0), Unreached: []unreached{{"api", election.Unreached{Holder: addr(1)}}}}))
	f.Add(bytes.Clone(wire.Bytes()))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readMessage(bytes.NewReader(data))
		if err == nil {
			assert.NoError(t, writeMessage(&bytes.Buffer{}, m))
			assert.Equal(t, m.Code, code.Numbered(m.Code.Number()))
		}
	})
}
