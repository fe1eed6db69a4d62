package daemon

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A look ends before the service that listens sees it, a refusal is one, and an answer that has come counts however late it is seen.
func TestConnectOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().(*net.TCPAddr).AddrPort()
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	require.NoError(t, connectOnce(late, netip.MustParseAddr("127.0.0.3"), at))
	require.NoError(t, connectOnce(t.Context(), netip.Addr{}, at))
	seen, err := net.Dial("tcp", at.String())
	require.NoError(t, err)
	defer seen.Close()
	c, err := l.Accept()
	require.NoError(t, err)
	assert.Equal(t, seen.LocalAddr().String(), c.RemoteAddr().String(), "those before it were never there for the service")
	require.NoError(t, c.Close())
	require.NoError(t, l.Close())
	require.ErrorIs(t, connectOnce(t.Context(), netip.Addr{}, at), unix.ECONNREFUSED)
	require.ErrorIs(t, connectOnce(t.Context(), netip.MustParseAddr("192.0.2.1"), at), unix.EADDRNOTAVAIL)
}
