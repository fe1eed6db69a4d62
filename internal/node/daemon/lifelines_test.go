package daemon

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// The port is Raft's while an entry is elected by it. Then lines are made again, at a place that had some before, and at one that is new.
func TestLifelinesAreBackAfterRaft(t *testing.T) {
	one, other := onLoopback(1).String(), onLoopback(2).String()
	free, err := net.Listen("tcp", net.JoinHostPort(one, "0"))
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).AddrPort().Port()
	require.NoError(t, free.Close())
	without := &config.Config{Port: port, Lifeline: true}
	with := &config.Config{VIPs: []config.VIP{{Name: "a", Election: config.ElectionRaft}}}
	lo, err := net.InterfaceByName("lo")
	require.NoError(t, err)
	l := newLifelines(without, newKeys().members, fence.NewLinks(nil, nil), slog.New(slog.DiscardHandler))
	place := func(own string) instance.Place {
		return instance.Place{Index: lo.Index, Name: lo.Name, Source: netip.MustParseAddr(own)}
	}
	near := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		return errors.Join(raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TTL, 255) }), err)
	}}
	listens := func(own string) bool {
		c, err := near.DialContext(t.Context(), "tcp", net.JoinHostPort(own, strconv.Itoa(int(port))))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	wait := func(own string) {
		t.Helper()
		require.Eventually(t, func() bool { return listens(own) }, 5*time.Second, time.Millisecond)
	}
	_, first := l.at(place(one))
	defer first()
	wait(one)
	for range 2 {
		l.use(with)
		assert.False(t, listens(one))
		_, second := l.at(place(other))
		assert.False(t, listens(other))
		l.freed(with)
		l.use(without)
		assert.False(t, listens(one), "Raft has not left the port yet")
		l.freed(without)
		wait(one)
		wait(other)
		second()
		assert.False(t, listens(other))
	}
}
