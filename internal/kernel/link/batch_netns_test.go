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

func TestHandleAddsAndRemovesAThousandAddresses(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("va", s, "vb")
	s.Has("va", "10.1.0.5/24")
	h := handle(t, slog.Default())
	index := s.Index("va")
	var ps []netip.Prefix
	for i := range 1000 {
		ps = append(ps, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 2, byte(i >> 8), byte(i)}), 32),
			netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 1: 2, 14: byte(i >> 8), 15: byte(i)}), 128))
	}
	ours := func() int {
		n := 0
		for _, a := range snapshot(t, h, "va").Addresses {
			if a.Ours {
				n++
			}
		}
		return n
	}
	timed := func(what string, do func() error) {
		start := time.Now()
		require.NoError(t, do(), what)
		t.Logf("%s: %s", what, time.Since(start))
	}
	timed("added", func() error { return h.Add(index, ps, time.Minute) })
	assert.Equal(t, len(ps), ours())
	timed("added again", func() error { return h.Add(index, ps, time.Minute) })
	assert.Equal(t, len(ps), ours())
	timed("removed", func() error { return h.Remove(index, ps...) })
	assert.Zero(t, ours())
	require.NoError(t, h.Remove(index, ps...), "absent is no error")
	require.NoError(t, h.Add(index, nil, time.Minute))

	assert.ErrorIs(t, h.Add(9999, ps, time.Minute), errGone)
	assert.ErrorContains(t, h.Add(9999, ps, time.Minute), "add 10.2.0.0/32 to interface 9999")
	assert.ErrorContains(t, h.Add(9999, ps, time.Minute), "and 1999 more")
	require.NoError(t, h.Remove(9999, ps...))
	assert.ErrorContains(t, h.Add(index, []netip.Prefix{{}}, time.Minute), "want a plain IPv4 or IPv6 address")
	require.NoError(t, h.Add(index, []netip.Prefix{ps[0]}, time.Minute), "the connection is still in step")
}
