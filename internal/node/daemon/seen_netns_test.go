//go:build netns

package daemon

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/serve/service/address"
)

// TestIPv6AddressKeepsItsLengthHere as in the kernel: to bind it with another one only renews it, and who takes the other
// one off has neither.
func TestIPv6AddressKeepsItsLengthHere(t *testing.T) {
	s, h := spaceOf(t)
	wide, bare := []netip.Prefix{netip.MustParsePrefix("fd77::100/64")}, []netip.Prefix{netip.MustParsePrefix("fd77::100/128")}
	s.Has("eth0", wide[0].String())
	index := s.Index("eth0")
	bound := func(want []netip.Prefix) {
		t.Helper()
		for range 2 { // as it was noted, and as it is
			assert.Equal(t, []address.Binding{{Index: index, Prefix: want[0]}}, h.Bound(bare))
			_, err := h.refresh()
			require.NoError(t, err)
		}
	}
	_, err := h.refresh()
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, h.Bind(index, bare, time.Minute))
		bound(wide)
	}
	require.NoError(t, h.Unbind(index, wide))
	require.NoError(t, h.Bind(index, bare, time.Minute))
	bound(bare)
}
