//go:build netns

package link

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

func TestHasLocalRoute(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("eth0", s, "eth1")
	h, err := Open(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer h.Close()
	for own, vip := range map[string]string{"10.9.0.1/24": "10.9.0.100/32", "fd09::1/64": "fd09::100/128"} {
		s.Has("eth0", own)
		p := netip.MustParsePrefix(vip)
		has := func() bool {
			ok, err := h.HasLocalRoute(p.Addr())
			require.NoError(t, err)
			return ok
		}
		assert.False(t, has())
		require.NoError(t, h.Add(s.Index("eth0"), []netip.Prefix{p}, time.Minute))
		assert.Eventually(t, has, netnstest.Patience, time.Millisecond)
		require.NoError(t, h.Remove(s.Index("eth0"), p))
		assert.False(t, has())
	}
}
