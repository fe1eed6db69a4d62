package control

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQueuesAcceptWhatWaitsAtEachSocket(t *testing.T) {
	l, err := Listen("127.0.0.1:0", Probes{Metrics: http.NotFoundHandler()})
	require.NoError(t, err)
	defer l.Close()
	q := l.lns[0].(*bounded).Listener.(*queues)
	require.Len(t, q.lns, localQueues)
	var callers []net.Conn
	wanted := map[string]bool{}
	for range 100 {
		c, err := net.Dial("tcp", q.Addr().String())
		require.NoError(t, err)
		callers = append(callers, c)
		wanted[c.LocalAddr().String()] = true
	}
	for range callers { // whichever socket they wait at
		c, err := q.Accept()
		require.NoError(t, err)
		delete(wanted, c.RemoteAddr().String())
		require.NoError(t, c.Close())
	}
	assert.Empty(t, wanted)
	for _, c := range callers {
		require.NoError(t, c.Close())
	}
}

func TestClosedQueuesLeaveNobodyWaiting(t *testing.T) {
	l, err := Listen("127.0.0.1:0", Probes{Metrics: http.NotFoundHandler()})
	require.NoError(t, err)
	q := l.lns[0].(*bounded).Listener.(*queues)
	for range 50 {
		c, err := net.Dial("tcp", q.Addr().String())
		require.NoError(t, err)
		defer c.Close()
	}
	require.NoError(t, q.Close())
	_, err = q.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.NoError(t, q.Close(), "again")
	for _, ln := range q.lns {
		_, err = ln.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	}
}

// Sockets that share an address would let another process of the same user in.
func TestListenerSharesItsAddressWithNobody(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]", "127.0.0.5"} {
		if one, err := net.Listen("tcp", host+":0"); err != nil {
			continue // not every host has IPv6
		} else {
			require.NoError(t, one.Close())
		}
		l, err := Listen(host+":0", Probes{Metrics: http.NotFoundHandler()})
		require.NoError(t, err)
		_, err = Listen(l.lns[0].Addr().String(), Probes{Metrics: http.NotFoundHandler()})
		require.ErrorContains(t, err, "address already in use")
		l.Close()
	}
}
