//go:build linux

package vrrp

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A pair of Unix datagram sockets stands in for the raw socket: recvmmsg(2) is the same, and it needs no privilege.
func TestBatchReceive(t *testing.T) {
	t.Run("with names", func(t *testing.T) { testBatchReceive(t, newBatch(false)) })
	t.Run("nameless", func(t *testing.T) { testBatchReceive(t, newBatch(true)) })
}

func testBatchReceive(t *testing.T, b *batch) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	send := func(b []byte) { require.NoError(t, unix.Send(pair[1], b, 0)) }
	_, err = b.receive(pair[0])
	assert.ErrorIs(t, err, unix.EAGAIN, "empty: does not block")

	for round := range 2 { // the lengths that the kernel wrote in the first must not cut the second
		send([]byte("first"))
		send(nil)
		send(bytes.Repeat([]byte{7}, packetSize))
		send(make([]byte, packetSize+1))
		n, err := b.receive(pair[0])
		require.NoError(t, err)
		require.Equal(t, 4, n, "round %d", round)
		assert.Equal(t, "first", string(b.message(0).packet))
		assert.Empty(t, b.message(1).packet)
		assert.Equal(t, bytes.Repeat([]byte{7}, packetSize), b.message(2).packet)
		assert.Equal(t, []bool{false, false, false, true}, []bool{b.message(0).cut, b.message(1).cut, b.message(2).cut, b.message(3).cut})
	}
}
