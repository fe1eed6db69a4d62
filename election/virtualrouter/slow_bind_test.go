package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/vrrp"
)

// manyOf is an instance of a number of addresses.
func manyOf(n int) func(*vrrp.Config) {
	return func(c *vrrp.Config) {
		c.Addresses = nil
		for i := range n {
			c.Addresses = append(c.Addresses, netip.AddrFrom4([4]byte{10, 99, byte(i >> 8), byte(i)}))
		}
	}
}

func TestVRRPAdvertisesWhileManyAddressesAreBound(t *testing.T) {
	for _, tt := range []struct {
		name              string
		advertised, bound int
	}{
		{"all are advertised", 200, 0},
		{"of IPv6 an advertisement names 90", 90, 1000},
		{"one of this family, the others of the other one", 1, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLAN()
				l.bound = tt.bound
				l.slow.Store(int64(450 * time.Millisecond)) // past the others' Active_Down_Interval
				many := manyOf(tt.advertised)
				all := []*member{l.start(t, nodeA, many), l.start(t, nodeB, many), l.start(t, nodeC, many)}
				h := holder(t, 2*time.Second, all...)
				assert.Equal(t, uint64(1), h.Status().Counters.Takeovers)
				require.NoError(t, h.stop())
				var others []*member
				for _, m := range all {
					if m != h {
						others = append(others, m)
						assert.Zero(t, m.Status().Counters.Takeovers, "%s", m.self)
					}
				}
				h = holder(t, 2*time.Second, others...)
				assert.Equal(t, uint64(1), h.Status().Counters.Takeovers)
				stopAll(t, others...)
			})
		})
	}
}

// A reload may bring addresses that no advertisement has room for.
func TestVRRPAdvertisesWhileAddressesOfAReloadAreBound(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		all := []*member{l.start(t, nodeA, manyOf(90)), l.start(t, nodeB, manyOf(90))}
		h := holder(t, 2*time.Second, all...)
		for _, m := range all {
			e := m.Elector.(*Elector)
			e.Reconfigure(e.cfg.Router, vip, 1000, 0)
		}
		time.Sleep(time.Second)
		l.slow.Store(int64(450 * time.Millisecond))
		other := all[0]
		if h == other {
			other = all[1]
		}
		require.NoError(t, h.stop())
		again := l.start(t, h.self, manyOf(90))
		assert.Equal(t, other, holder(t, 2*time.Second, other, again))
		assert.Equal(t, uint64(1), other.Status().Counters.Takeovers)
		assert.Zero(t, again.Status().Counters.Takeovers)
		stopAll(t, other, again)
	})
}

// A host that takes longer than the addresses are worth is not waited for.
func TestVRRPSlowHostLetsOthersTry(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.slow.Store(int64(3 * time.Second))
		slow := l.start(t, nodeC, func(c *vrrp.Config) { manyOf(200)(c); c.Priority = 200 })
		time.Sleep(500 * time.Millisecond)
		l.slow.Store(0)
		other := l.start(t, nodeA, manyOf(200))
		time.Sleep(700 * time.Millisecond)
		assert.True(t, other.holds())
		assert.False(t, slow.holds())
		time.Sleep(5 * time.Second)
		assert.Len(t, holders(slow, other), 1)
		stopAll(t, slow, other)
	})
}
