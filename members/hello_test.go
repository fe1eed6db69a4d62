package members

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/vrrp"
)

func TestMachineOfManySpeaksLessOftenAndSaysSo(t *testing.T) {
	for _, tt := range []struct {
		give, want, lifetime time.Duration
	}{
		{give: 0, want: time.Second, lifetime: 3500 * ms},
		{give: 10 * time.Second, want: 10 * time.Second, lifetime: 35 * time.Second},
		{give: time.Minute, want: longestEvery, lifetime: 52500 * ms},
	} {
		r := newRig(t, func(c *Config) { c.Every = tt.give })
		r.self(vrrp.Backup, true)
		for range len(repeats) {
			r.now, _ = r.m.Deadline()
			r.step(Expired{})
		}
		next, _ := r.m.Deadline()
		assert.LessOrEqual(t, next.Sub(r.now), tt.want)
		r.now = next
		r.step(Expired{})
		next, _ = r.m.Deadline()
		assert.Equal(t, tt.want, next.Sub(r.now), "from the second regular one on")
		msg := r.m.known.message(Hello, Transfer{})
		assert.Equal(t, tt.lifetime, msg.Peer.Lifetime)
		assert.NoError(t, msg.validate())
	}
}

func TestManyGroupsSpeakTogetherAtWholeSecondsAndShareThemOut(t *testing.T) {
	const groups, seconds = 255, 10
	now := time.Date(2026, 3, 4, 5, 6, 7, 345_678_901, time.UTC)
	spoke := map[time.Time]int{}
	for i := range groups {
		group := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
		at := nextHello(now, seconds*time.Second+200*ms, group)
		assert.Zero(t, at.Nanosecond())
		assert.True(t, at.After(now) && !at.After(now.Add(seconds*time.Second)), "%v", at.Sub(now))
		assert.Equal(t, at.Add(seconds*time.Second), nextHello(at, seconds*time.Second+200*ms, group), "then each ten seconds")
		assert.Equal(t, at.Add(seconds*time.Second), nextHello(at.Add(3*ms), seconds*time.Second, group), "also when it leaves late")
		spoke[at]++
	}
	assert.Len(t, spoke, seconds)
	for at, many := range spoke {
		assert.InDelta(t, groups/seconds, many, 1, "%v", at)
	}
}

func TestNextHelloKeepsTheMonotonicClock(t *testing.T) {
	now := time.Now()
	next := nextHello(now, 10*time.Second, netip.MustParseAddr("2001:db8::1"))
	assert.Contains(t, next.String(), "m=+", "a stepped clock must not move the timer")
	assert.LessOrEqual(t, next.Sub(now), 10*time.Second)
}
