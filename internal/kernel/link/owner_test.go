package link

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOwnerIsTheUserAtTheOtherEnd(t *testing.T) {
	o, err := OpenOwners()
	require.NoError(t, err)
	defer o.Close()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Log(err) // no IPv6 here
			continue
		}
		defer ln.Close()
		client, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		server, err := ln.Accept()
		require.NoError(t, err)
		from, to := server.RemoteAddr().(*net.TCPAddr).AddrPort(), server.LocalAddr().(*net.TCPAddr).AddrPort()
		uid, here, err := o.owner(from, to)
		require.NoError(t, err)
		assert.True(t, here)
		assert.Equal(t, uint32(os.Getuid()), uid)

		require.NoError(t, client.Close())
		_, here, err = o.owner(from, to)
		assert.True(t, !here || err == errSocketClosed, "a socket that is closed is nobody's: here %v, %v", here, err)
		require.NoError(t, server.Close())
	}
}
