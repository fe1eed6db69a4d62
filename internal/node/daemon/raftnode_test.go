package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// A witness in another network has no place for an instance, so nothing but keepTrying opens its node: at the start, and each time after nothing was
// elected by Raft.
func TestWitnessIsBackAfterNothingWasElectedByRaft(t *testing.T) {
	own := netip.MustParsePrefix("127.0.0.1/8")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).AddrPort().Port()
	require.NoError(t, free.Close())
	with := &config.Config{
		VIPs: []config.VIP{{Name: "a", Election: config.ElectionRaft}}, Port: port, StateDir: t.TempDir(),
		Raft: config.Raft{Peers: []netip.Addr{own.Addr()}, Witnesses: []netip.Addr{own.Addr()}, HeartbeatTimeout: time.Second},
	}
	without := *with
	without.VIPs = nil
	log := slog.New(slog.DiscardHandler)
	r := newRaftNode(&seen{links: hostLinks{own: ownLinks{{Addresses: []link.Address{{Prefix: own}}}}}}, "v1", log)
	identify, err := r.prepareIdentity(secrets{keys: []config.Secret{{ID: 1, Bytes: make([]byte, 32)}}})
	require.NoError(t, err)
	r.use(&without, identify)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.keepTrying(ctx) }()
	defer func() { cancel(); <-done; r.close() }()
	for range 2 {
		r.use(with, func() {})
		require.Eventually(t, func() bool { return r.current() != nil }, 5*time.Second, time.Millisecond)
		r.use(&without, func() {})
		r.closeIdle()
		assert.Nil(t, r.current())
	}
}
