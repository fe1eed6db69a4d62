package arp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wake follows the schedule as a punctual caller would and returns when it announced, counted from start.
func wake(t *testing.T, s *Schedule, start time.Time, n int) []time.Duration {
	t.Helper()
	var at []time.Duration
	for range n {
		next, ok := s.Next()
		if !ok {
			break
		}
		assert.False(t, s.Due(next.Add(-1)), "due before its time")
		require.True(t, s.Due(next))
		at = append(at, next.Sub(start))
	}
	return at
}

func TestScheduleBurstThenRefresh(t *testing.T) {
	start := time.Unix(1000, 0)
	ms := time.Millisecond
	tests := []struct {
		name    string
		burst   []time.Duration
		refresh time.Duration
		repeat  int
		want    []time.Duration
	}{
		{name: "defaults", want: []time.Duration{0, 20 * ms, 100 * ms, 300 * ms, 700 * ms, 1500 * ms, 61500 * ms, 121500 * ms}},
		{name: "own times", burst: []time.Duration{5 * ms, 10 * ms}, refresh: 100 * ms, want: []time.Duration{5 * ms, 10 * ms, 110 * ms, 210 * ms, 310 * ms, 410 * ms, 510 * ms, 610 * ms}},
		{name: "no refresh", burst: []time.Duration{0, 10 * ms}, refresh: -1, want: []time.Duration{0, 10 * ms}},
		{name: "no burst", burst: []time.Duration{}, refresh: 2000 * ms, want: []time.Duration{2000 * ms, 4000 * ms, 6000 * ms, 8000 * ms, 10000 * ms, 12000 * ms, 14000 * ms, 16000 * ms}},
		{name: "three", burst: Burst(3, 0), refresh: -1, want: []time.Duration{0, 20 * ms, 100 * ms}},
		{name: "eight", burst: Burst(8, 0), refresh: -1, want: []time.Duration{0, 20 * ms, 50 * ms, 70 * ms, 100 * ms, 300 * ms, 700 * ms, 1500 * ms}},
		{name: "two, and again", burst: Burst(2, 5000*ms), refresh: -1, want: []time.Duration{0, 20 * ms, 5000 * ms, 5020 * ms}},
		{name: "again within the burst", burst: Burst(3, 50*ms), refresh: -1, want: []time.Duration{0, 20 * ms, 50 * ms, 70 * ms, 100 * ms, 150 * ms}},
		{name: "three at each refresh", burst: Burst(0, 0), refresh: 1000 * ms, repeat: 3, want: []time.Duration{0, 1000 * ms, 1020 * ms, 1040 * ms, 2040 * ms, 2060 * ms, 2080 * ms, 3080 * ms}},
		{name: "refreshed before again", burst: Burst(2, 5000*ms), refresh: 2000 * ms, want: []time.Duration{0, 20 * ms, 2020 * ms, 4020 * ms, 5000 * ms, 5020 * ms, 7020 * ms, 9020 * ms}},
		{name: "three at each refresh before again", burst: Burst(1, 3010*ms), refresh: 1000 * ms, repeat: 3, want: []time.Duration{0, 1000 * ms, 1020 * ms, 1040 * ms, 2040 * ms, 2060 * ms, 2080 * ms, 3010 * ms}},
		{name: "nothing", burst: []time.Duration{}, refresh: -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewSchedule(tt.burst, tt.refresh, tt.repeat)
			s.Restart(start)
			assert.Equal(t, tt.want, wake(t, s, start, 8))
		})
	}
}

func TestScheduleDefaultBurstLastsOverASecond(t *testing.T) {
	assert.Zero(t, defaultBurst[0])
	assert.Greater(t, defaultBurst[len(defaultBurst)-1], time.Second)
	assert.IsIncreasing(t, defaultBurst)
}

func TestScheduleStoppedIsNeverDue(t *testing.T) {
	now := time.Unix(1000, 0)
	s := NewSchedule(nil, 0, 0)
	_, ok := s.Next()
	assert.False(t, ok, "a new schedule is stopped")
	assert.False(t, s.Due(now))
	s.Restart(now)
	s.Stop()
	_, ok = s.Next()
	assert.False(t, ok)
	assert.False(t, s.Due(now.Add(time.Hour)))
}

func TestScheduleLateCallerAnnouncesOnce(t *testing.T) {
	start := time.Unix(1000, 0)
	s := NewSchedule(nil, 0, 0)
	s.Restart(start)
	late := start.Add(400 * time.Millisecond)
	assert.True(t, s.Due(late), "0, 20, 100 and 300 ms are one")
	assert.False(t, s.Due(late))
	next, ok := s.Next()
	require.True(t, ok)
	assert.Equal(t, 700*time.Millisecond, next.Sub(start))
	muchLater := start.Add(time.Hour)
	assert.True(t, s.Due(muchLater))
	next, _ = s.Next()
	assert.Equal(t, defaultRefresh, next.Sub(muchLater), "the refresh counts from what was sent")
}

func TestScheduleRestartBeginsTheBurstAgain(t *testing.T) {
	start := time.Unix(1000, 0)
	s := NewSchedule(nil, 0, 0)
	s.Restart(start)
	wake(t, s, start, 7)
	again := start.Add(90 * time.Second)
	s.Restart(again)
	assert.Equal(t, defaultBurst, wake(t, s, again, len(defaultBurst)))
}
