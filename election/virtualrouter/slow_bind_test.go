package virtualrouter

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	synctest.Test(t, func(t *testing.T) {
		l := newLAN()
		l.slow.Store(int64(450 * time.Millisecond)) // past the others' Active_Down_Interval
		all := []*member{l.start(t, nodeA, manyOf(200)), l.start(t, nodeB, manyOf(200)), l.start(t, nodeC, manyOf(200))}
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
}

// A host that takes longer than the addresses are worth is not waited for.
func TestVRRPSlowHostLetsOthersTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
