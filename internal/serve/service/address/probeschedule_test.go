package address

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProbeScheduleAsksThreeTimesThenRarely(t *testing.T) {
	start := time.Unix(1000, 0)
	p := newProbeSchedule(start, []netip.Addr{vip4.Addr(), vip6.Addr()}, 2)
	var at []time.Duration
	for len(at) < 6 {
		now := p.next
		require.Equal(t, p.addresses, p.due(now, 0.5, false))
		at = append(at, now.Sub(start))
	}
	assert.Equal(t, []time.Duration{0, 80 * time.Millisecond, 160 * time.Millisecond, 160*time.Millisecond + probeEvery, 160*time.Millisecond + 2*probeEvery, 160*time.Millisecond + 3*probeEvery}, at)
	assert.Less(t, at[2], probeWindow)
	assert.LessOrEqual(t, 2*p.pause(1, false), 30*time.Second, "with one lost probe")
	assert.GreaterOrEqual(t, p.pause(0, false), 9*time.Second)
	assert.Equal(t, probeInConflict, p.pause(0.5, true))
	p.bringForward(start.Add(at[5]))
	assert.Equal(t, start.Add(at[5]+probeInConflict), p.next)
}

func TestProbeScheduleSpreadsManyAddresses(t *testing.T) {
	start := time.Unix(1000, 0)
	var addresses []netip.Addr
	for i := range 1000 {
		addresses = append(addresses, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
	}
	p := newProbeSchedule(start, addresses, len(addresses))
	for range firstProbes {
		require.Len(t, p.due(p.next, 0.5, false), 1000)
	}
	asked, began := map[netip.Addr]bool{}, p.next
	for range 63 {
		part := p.due(p.next, 0.5, false)
		require.LessOrEqual(t, len(part), perProbe)
		for _, a := range part {
			require.False(t, asked[a], "twice in a round")
			asked[a] = true
		}
	}
	assert.Len(t, asked, 1000)
	assert.InDelta(t, probeEvery, p.next.Sub(began), float64(time.Millisecond))
}

func TestProbeSchedulesOfManyInstancesShareWholeSeconds(t *testing.T) {
	start := time.Unix(1000, 123_456_789)
	p := newProbeSchedule(start, []netip.Addr{vip4.Addr()}, probeCrowd)
	for range firstProbes {
		p.due(p.next, 0, false)
	}
	for _, jitter := range []float64{0, 0.3, 0.99} {
		before := p.next
		assert.Zero(t, before.Nanosecond())
		require.NotEmpty(t, p.due(before.Add(time.Millisecond), jitter, false))
		assert.InDelta(t, p.pause(jitter, false), p.next.Sub(before), float64(probeTick))
		assert.LessOrEqual(t, p.next.Sub(before), p.pause(jitter, false)+time.Millisecond, "not later than alone")
	}
}
