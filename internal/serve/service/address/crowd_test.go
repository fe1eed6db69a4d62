package address

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// What hundreds of instances do for a fence that all of them see is most of what an idle process does.
func TestFencerOfManyLooksInTurns(t *testing.T) {
	for name, tt := range map[string]struct {
		sharing           int
		told              bool
		missed            time.Duration // ago, at every moment; 0: never
		leastLooks, looks int           // in a minute
		leastAsked, asked int
		longestUnseen     time.Duration
	}{
		"alone":                        {sharing: 1, leastLooks: 119, looks: 121, leastAsked: 39, asked: 41, longestUnseen: checkEvery},
		"a few":                        {sharing: crowd - 1, leastLooks: 119, looks: 121, leastAsked: 39, asked: 41, longestUnseen: checkEvery},
		"alone, and told of changes":   {sharing: 1, told: true, leastLooks: 39, looks: 41, leastAsked: 39, asked: 41, longestUnseen: lapseLook},
		"many":                         {sharing: 255, leastLooks: 20, looks: 60, leastAsked: 3, asked: 5, longestUnseen: rarely * checkEvery},
		"many, and one missed a lease": {sharing: 255, missed: time.Second, leastLooks: 20, looks: 60, leastAsked: 15, asked: 40, longestUnseen: rarely * checkEvery},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				kernel, elector := &fakeFence{egress: true, sharing: tt.sharing, told: tt.told}, &advertiser{}
				elector.advertise(time.Hour)
				f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: elector.until, length: time.Second}, false)
				defer f.close()
				f.hold()
				for range time.Minute / checkEvery {
					if tt.missed != 0 {
						kernel.set(func(f *fakeFence) { f.missed = time.Now().Add(-tt.missed) })
					}
					time.Sleep(checkEvery)
					synctest.Wait()
				}
				require.NotEmpty(t, kernel.looked)
				for i, at := range kernel.looked[1:] {
					assert.LessOrEqual(t, at.Sub(kernel.looked[i]), tt.longestUnseen)
				}
				assert.GreaterOrEqual(t, len(kernel.looked), tt.leastLooks)
				assert.LessOrEqual(t, len(kernel.looked), tt.looks)
				assert.GreaterOrEqual(t, len(kernel.asked), tt.leastAsked)
				assert.LessOrEqual(t, len(kernel.asked), tt.asked)
			})
		})
	}
}

// A lapse that one of many has begun to see is looked at as often as with a few.
func TestFencerOfManyTellsOfALostLease(t *testing.T) {
	for range 8 { // whose turn it is, is random
		bubble.Test(t, func(t *testing.T) {
			kernel, elector := &fakeFence{egress: true, sharing: 255}, &advertiser{}
			elector.advertise(time.Hour)
			f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: elector.until, length: time.Second}, false)
			defer f.close()
			f.hold()
			time.Sleep(time.Minute)
			synctest.Wait()
			kernel.set(func(f *fakeFence) { f.dropped, f.asked = true, nil })
			time.Sleep(255*lapseTurn + rarely*checkEvery + lapsedGrace + checkEvery)
			synctest.Wait()
			assert.NotZero(t, f.lapsedSince())
			require.Greater(t, len(kernel.asked), 1)
			assert.LessOrEqual(t, kernel.asked[1].Sub(kernel.asked[0]), checkEvery)
		})
	}
}

func TestBackupAmongManyKeepsItsGuardInPlace(t *testing.T) {
	for good, times := range map[time.Duration]float64{4 * time.Second: 22, 20 * time.Second: 4} {
		bubble.Test(t, func(t *testing.T) { keepsGuardAmongMany(t, good, times) })
	}
}

func keepsGuardAmongMany(t *testing.T, good time.Duration, times float64) {
	kernel := &fakeFence{egress: true, standby: good, sharing: 255}
	f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: func() time.Time { return time.Time{} }, length: time.Second}, false)
	defer f.close()
	f.standBy()
	synctest.Wait()
	for range 240 {
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		require.True(t, f.guardedNow(), "an address that is bound now would be without a guard")
	}
	assert.InDelta(t, times, len(kernel.take()), max(1, times/5), "as seldom as it can; one more or less by what comes first at the same moment")
}
