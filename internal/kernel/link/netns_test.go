//go:build netns

package link

import (
	"context"
	"log/slog"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// handle opens what is tested, in the namespace the test is in.
func handle(t *testing.T, log *slog.Logger) *Handle {
	t.Helper()
	h, err := Open(log)
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// watch runs Watch on a thread of its own in the namespace and counts its reports. hold, if it is not nil, is called in each.
func watch(t *testing.T, s *netnstest.Space, h *Handle, hold func()) *atomic.Int64 {
	t.Helper()
	var n atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := unix.Setns(s.FD, unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- h.Watch(ctx, func() {
			n.Add(1)
			if hold != nil {
				hold()
			}
		})
	}()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	s.Eventually(func() bool { return n.Load() >= 1 }, "the report at the beginning")
	return &n
}

func snapshot(t *testing.T, h *Handle, name string) Link {
	t.Helper()
	links, err := h.Links()
	require.NoError(t, err)
	l, err := Choose(links, netip.Addr{}, name)
	require.NoError(t, err)
	return l
}

// listed finds one address in a snapshot of its link.
func listed(t *testing.T, h *Handle, name, prefix string) (Address, bool) {
	t.Helper()
	for _, a := range snapshot(t, h, name).Addresses {
		if a.Prefix == netip.MustParsePrefix(prefix) {
			return a, true
		}
	}
	return Address{}, false
}
