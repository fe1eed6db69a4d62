package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// What the host does after each rival takes an Active the time in which it has to advertise.
func TestMachineManyRivalsAtOnceAreOneAnnouncement(t *testing.T) {
	m, err := newMachine(Config{Router: vrrp.Config{
		Version: 3, VRID: 51, Priority: ownerPriority, Interval: interval, Preempt: true, Source: nodeA, Addresses: []netip.Addr{vip},
	}})
	require.NoError(t, err)
	now := time.Now()
	m.Step(now, begin{})
	m.Step(now, response{})
	for range 2 {
		now = now.Add(time.Millisecond)
		ev, source := arrived{}, netip.MustParseAddr("10.88.0.1")
		for range maxMembers {
			ev.Adverts = append(ev.Adverts, Arrival{Source: source, At: now, Advertisement: vrrp.Advertisement{
				Version: 3, VRID: 51, Priority: 1, Interval: interval, Addresses: []netip.Addr{vip},
			}})
			source = source.Next()
		}
		applied := 0
		for _, a := range m.Step(now, ev) {
			if _, ok := a.(apply); ok {
				applied++
			}
		}
		assert.Equal(t, 1, applied)
	}
	assert.Equal(t, uint64(2*maxMembers), m.counters.Rivals)
}
