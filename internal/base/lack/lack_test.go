package lack

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
)

func TestOf(t *testing.T) {
	call := func(err error) error {
		return fmt.Errorf("probe: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", err)})
	}
	for _, tt := range []struct {
		name string
		give error
		want code.Code
	}{
		{"none", nil, ""},
		{"no descriptor of the process", call(syscall.EMFILE), code.NoDescriptors},
		{"no descriptor of the host", call(syscall.ENFILE), code.NoHostDescriptors},
		{"no memory", call(syscall.ENOMEM), code.NoMemory},
		{"no buffer", call(syscall.ENOBUFS), code.NoMemory},
		{"a resolver without a descriptor", &net.DNSError{Err: "open /etc/resolv.conf: too many open files"}, code.NoDescriptors},
		{"a name that does not exist", &net.DNSError{Err: "no such host", IsNotFound: true}, ""},
		{"refused", call(syscall.ECONNREFUSED), ""},
		{"unreachable", call(syscall.EHOSTUNREACH), ""},
		{"another text", errors.New("too many open files"), ""},
	} {
		assert.Equal(t, tt.want, Of(tt.give), tt.name)
	}
	assert.Equal(t, code.NoProcess, OfStart(fmt.Errorf("not started: %w", syscall.EAGAIN)))
	assert.Empty(t, Of(call(syscall.EAGAIN)), "elsewhere it only says that there is nothing yet")
}

// A host without a local port left still connects a UDP socket; without an address of the family it does not.
func TestOfDialTellsPortsFromAddresses(t *testing.T) {
	busy := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer c.Close()
	assert.Equal(t, code.NoPort, OfDial(t.Context(), busy, c.LocalAddr().String()))
	assert.Empty(t, OfDial(t.Context(), busy, "[fe80::1%none]:1"), "there is no way there")
}
