//go:build linux

package vrrp

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pipeConn is a Conn whose receiving socket is one end of a pair, and the other end.
func pipeConn(t *testing.T) (*Conn, int) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	send, err := os.Open(os.DevNull)
	require.NoError(t, err)
	c := &Conn{
		filter: filter{source: addr("fe80::1")}, batch: newBatch(false),
		recv: os.NewFile(uintptr(pair[0]), "receive"), send: send,
	}
	require.NoError(t, c.rawConns())
	t.Cleanup(func() { _ = c.Close(); _ = unix.Close(pair[1]) })
	return c, pair[1]
}

func drained(t *testing.T, c *Conn) (payloads []string) {
	t.Helper()
	require.NoError(t, c.Drain(func(d Datagram) { payloads = append(payloads, string(d.Payload)) }))
	return payloads
}

func TestConnWaitThenDrain(t *testing.T) {
	c, peer := pipeConn(t)
	assert.Empty(t, drained(t, c), "nothing there: does not block")

	woken := make(chan error)
	go func() { woken <- c.Wait() }()
	require.NoError(t, unix.Send(peer, []byte("one"), 0))
	require.NoError(t, <-woken)
	require.NoError(t, unix.Send(peer, []byte("two"), 0))
	assert.Equal(t, []string{"one", "two"}, drained(t, c))

	go func() { woken <- c.Wait() }()
	require.NoError(t, unix.Send(peer, []byte("three"), 0))
	require.NoError(t, <-woken, "a second time")
	require.NoError(t, c.Wait(), "at once, as long as something is there")
	assert.Equal(t, []string{"three"}, drained(t, c))
}

// Drain and the rest go on while another goroutine is in Wait.
func TestConnDrainsWhileWaiting(t *testing.T) {
	c, _ := pipeConn(t)
	woken := make(chan error)
	go func() { woken <- c.Wait() }()
	for range 100 {
		assert.Empty(t, drained(t, c))
	}
	require.NoError(t, c.Close())
	assert.ErrorIs(t, <-woken, net.ErrClosed)
}

func TestConnClosed(t *testing.T) {
	c, _ := pipeConn(t)
	require.NoError(t, c.Close())
	assert.ErrorIs(t, c.Wait(), net.ErrClosed)
	assert.ErrorIs(t, c.Drain(func(Datagram) {}), net.ErrClosed)
	assert.ErrorIs(t, c.SetFilter(nil, nil), net.ErrClosed)
	assert.ErrorIs(t, c.Write([]byte("x"), group6), net.ErrClosed)
	assert.ErrorContains(t, c.Write([]byte("x"), group4), "vrrp: send to 224.0.0.18: want the family of the source fe80::1")
}

func TestConnGroup(t *testing.T) {
	for _, tt := range []struct{ source, group, want string }{
		{"192.0.2.1", "", "224.0.0.18"},
		{"fe80::1", "", "ff02::12"},
		{"192.0.2.1", "224.0.0.19", "224.0.0.19"},
		{"fe80::1", "ff02::13", "ff02::13"},
	} {
		cfg := ConnConfig{Interface: net.Interface{Index: 1, Name: "eth0"}, Source: netip.MustParseAddr(tt.source)}
		if tt.group != "" {
			cfg.Group = netip.MustParseAddr(tt.group)
		}
		require.NoError(t, cfg.Validate())
		assert.Equal(t, tt.want, cfg.group().String())
	}
	for _, group := range []string{"192.0.2.9", "ff02::13", "::ffff:224.0.0.18"} {
		cfg := ConnConfig{Interface: net.Interface{Index: 1, Name: "eth0"}, Source: netip.MustParseAddr("192.0.2.1"), Group: netip.MustParseAddr(group)}
		assert.ErrorContains(t, cfg.Validate(), "want a multicast address")
	}
}
