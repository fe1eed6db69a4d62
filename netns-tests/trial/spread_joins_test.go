package trial

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMovedSlots(t *testing.T) {
	a, b, c := netip.MustParseAddr("10.77.0.11"), netip.MustParseAddr("10.77.0.12"), netip.MustParseAddr("10.77.0.13")
	for _, tt := range []struct {
		name          string
		before, after []netip.Addr
		share         float64
		others        int
	}{
		{"none", []netip.Addr{a, b}, []netip.Addr{a, b}, 0, 0},
		{"to the new one", []netip.Addr{a, b, a, b}, []netip.Addr{a, c, a, b}, 25, 0},
		{"to one that was there", []netip.Addr{a, b, a, b}, []netip.Addr{b, c, a, b}, 50, 1},
		{"of a table with more slots", []netip.Addr{a, b}, []netip.Addr{a, a, c, b, b, c}, 100 * 2.0 / 6, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			share, others := movedSlots(tt.before, tt.after, c)
			assert.InDelta(t, tt.share, share, 0.01)
			assert.Equal(t, tt.others, others)
		})
	}
}
