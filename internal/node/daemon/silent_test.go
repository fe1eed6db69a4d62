package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
)

// What this host lacks, as a link or a file descriptor, is no answer of another host.
func TestSilentIsOnlyWhoWasAsked(t *testing.T) {
	h := spreadHost{host: newHost(nil, slog.New(slog.DiscardHandler))}
	h.seen.keep([]link.Link{{Index: 2, Name: "eth0", Up: true, Carriers: 4}, {Index: 3, Name: "eth1", Carriers: 1}}, 0)
	for name, tt := range map[string]struct {
		at     instance.Place
		silent bool
	}{
		"the link works":                    {instance.Place{Index: 2, Name: "eth0", Stay: 4}, true},
		"the carrier was gone meanwhile":    {instance.Place{Index: 2, Name: "eth0", Stay: 2}, false},
		"the link has no carrier":           {instance.Place{Index: 3, Name: "eth1", Stay: 1}, false},
		"the link is not there any more":    {instance.Place{Index: 4, Name: "eth2"}, false},
		"the link was deleted, and is anew": {instance.Place{Index: 5, Name: "eth0", Stay: 4}, false},
	} {
		assert.Equal(t, tt.silent, errors.Is(h.silent(tt.at, os.ErrDeadlineExceeded), spread.ErrSilent), name)
	}
}

func TestUnansweredIsNoFaultOfThisHost(t *testing.T) {
	for err, want := range map[error]bool{
		context.DeadlineExceeded: true, unix.ETIMEDOUT: true, unix.EHOSTUNREACH: true, unix.EHOSTDOWN: true,
		unix.EMFILE: false, unix.ENFILE: false, unix.ENOBUFS: false, unix.ENOMEM: false, unix.EADDRNOTAVAIL: false, unix.EAGAIN: false,
		unix.ENETUNREACH: false, unix.ENETDOWN: false, unix.EPERM: false, context.Canceled: false,
	} {
		assert.Equal(t, want, unanswered(&net.OpError{Op: "dial", Err: fmt.Errorf("connect: %w", err)}), err)
	}
}

// The kernel has an answer for each connection on loopback, and one that is not accepted waits for none.
func TestReachTellsAnAnswerFromNone(t *testing.T) {
	h := spreadHost{host: newHost(nil, slog.New(slog.DiscardHandler))}
	h.seen.keep([]link.Link{{Index: 1, Name: "lo", Up: true}}, 0)
	lo := instance.Place{Index: 1, Name: "lo"}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().(*net.TCPAddr).AddrPort()
	require.NoError(t, h.Reach(t.Context(), lo, at))
	require.NoError(t, l.Close())
	require.NoError(t, h.Reach(t.Context(), lo, at), "a refusal is an answer")
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	require.ErrorIs(t, h.Reach(late, lo, netip.AddrPortFrom(at.Addr(), at.Port())), spread.ErrSilent)
}
