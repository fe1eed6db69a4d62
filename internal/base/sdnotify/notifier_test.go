package sdnotify

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestNewWithoutManager(t *testing.T) {
	n, err := New(environment(nil), 7)
	require.NoError(t, err)
	assert.Nil(t, n)
}

func TestNewWatchdog(t *testing.T) {
	tests := []struct {
		name, usec, pid string
		want            time.Duration
	}{
		{"none", "", "", 0},
		{"for whoever is asked", "10000000", "", 10 * time.Second},
		{"for this process", "10000000", "7", 10 * time.Second},
		{"for another process", "10000000", "8", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := New(environment(map[string]string{"NOTIFY_SOCKET": "/s", "WATCHDOG_USEC": tt.usec, "WATCHDOG_PID": tt.pid}), 7)
			require.NoError(t, err)
			assert.Equal(t, tt.want, n.watchdog)
		})
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct{ name, socket, usec, want string }{
		{"vsock", "vsock:2:9999", "", `sdnotify: NOTIFY_SOCKET is "vsock:2:9999", want an absolute path or @ and a name`},
		{"relative", "s", "", `sdnotify: NOTIFY_SOCKET is "s", want an absolute path or @ and a name`},
		{"no name", "@", "", `sdnotify: NOTIFY_SOCKET is "@", want an absolute path or @ and a name`},
		{"words", "/s", "soon", `sdnotify: WATCHDOG_USEC is "soon", want microseconds, at most a day`},
		{"zero", "/s", "0", `sdnotify: WATCHDOG_USEC is "0", want microseconds, at most a day`},
		{"no end", "/s", "9223372036854775807", `sdnotify: WATCHDOG_USEC is "9223372036854775807", want microseconds, at most a day`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := New(environment(map[string]string{"NOTIFY_SOCKET": tt.socket, "WATCHDOG_USEC": tt.usec}), 7)
			assert.EqualError(t, err, tt.want)
			assert.Nil(t, n)
		})
	}
}

func TestNotifierSends(t *testing.T) {
	dir, err := os.MkdirTemp("", "kv") // t.TempDir names the test, and a path of a socket has 107 octets at most
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	for _, socket := range []string{
		filepath.Join(dir, "s"),
		"@keepvip-sdnotify-" + strings.ReplaceAll(dir, "/", "-"),
	} {
		t.Run(socket[:1], func(t *testing.T) {
			c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
			require.NoError(t, err)
			defer c.Close()
			n, err := New(environment(map[string]string{"NOTIFY_SOCKET": socket}), 7)
			require.NoError(t, err)
			require.NoError(t, n.send("READY=1"))
			buf := make([]byte, 64)
			size, err := c.Read(buf)
			require.NoError(t, err)
			assert.Equal(t, "READY=1", string(buf[:size]))
		})
	}
}

func TestNotifierWithoutAnyoneThere(t *testing.T) {
	n, err := New(environment(map[string]string{"NOTIFY_SOCKET": filepath.Join(t.TempDir(), "s")}), 7)
	require.NoError(t, err)
	assert.ErrorContains(t, n.send("READY=1"), "sdnotify: ")
}

func TestStatusLineIsOneLine(t *testing.T) {
	assert.Equal(t, "STATUS=a WATCHDOG=1 b", statusLine("a\nWATCHDOG=1\rb"))
}
