package address

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestLapseLastsOnceSeenForItsGrace(t *testing.T) {
	type look struct {
		at     time.Duration
		left   time.Duration // of the elector's lease
		leased bool
		lasts  bool
	}
	const left = 200 * time.Millisecond
	start := time.Now()
	for name, looks := range map[string][]look{
		"none for a second":                 {{0, left, false, false}, {500 * time.Millisecond, left, false, false}, {time.Second, left, false, true}},
		"one in between":                    {{0, left, false, false}, {500 * time.Millisecond, left, true, false}, {time.Second, left, false, false}},
		"found again":                       {{0, left, false, false}, {2 * time.Second, left, false, true}, {3 * time.Second, left, true, false}},
		"the elector's is over":             {{0, left, false, false}, {2 * time.Second, 0, false, false}, {3 * time.Second, left, false, false}},
		"the elector's is just ending":      {{0, time.Millisecond, false, false}, {2 * time.Second, time.Millisecond, false, false}},
		"just ending, and none later":       {{0, left, false, false}, {time.Second, time.Millisecond, false, false}, {2 * time.Second, left, false, true}},
		"never gone":                        {{0, left, true, false}, {5 * time.Second, left, true, false}},
		"none, but seen only once":          {{0, left, false, false}},
		"late process: the answer too late": {{0, -time.Second, false, false}, {5 * time.Second, -time.Second, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var l lapse
			for i, k := range looks {
				now := start.Add(k.at)
				l.see(now, now.Add(k.left), k.leased)
				assert.Equal(t, k.lasts, l.lasts(), "look %d", i)
			}
		})
	}
}

// lapseTold is within what time it has to be told that the kernel's lease is gone.
const lapseTold = lapseLook + lapsedGrace

func TestFencerTellsOfALeaseThatOnlyTheKernelHasLost(t *testing.T) {
	for name, tt := range map[string]struct {
		kernel *fakeFence
		during func(kernel *fakeFence, elector *advertiser, f *fencer)
		want   bool
	}{
		"advertisements are dropped": {kernel: &fakeFence{egress: true}, want: true},
		"renewed by transaction":     {kernel: &fakeFence{}},
		"the fence is broken": {kernel: &fakeFence{egress: true}, during: func(kernel *fakeFence, _ *advertiser, _ *fencer) {
			kernel.set(func(f *fakeFence) { f.broken = errors.New("table gone") })
		}},
		"released": {kernel: &fakeFence{egress: true}, during: func(_ *fakeFence, _ *advertiser, f *fencer) { f.release() }},
		"the elector's is over, too": {kernel: &fakeFence{egress: true}, during: func(_ *fakeFence, elector *advertiser, _ *fencer) {
			elector.advertise(-time.Second)
		}},
		"there at times": {kernel: &fakeFence{egress: true}, during: func(kernel *fakeFence, _ *advertiser, _ *fencer) {
			kernel.set(func(f *fakeFence) { f.dropped = !f.dropped })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				elector := &advertiser{}
				elector.advertise(time.Hour)
				f := newFencer(tt.kernel, slog.New(slog.DiscardHandler), leasing{end: elector.until, length: time.Second}, false)
				defer f.close()
				f.hold()
				time.Sleep(time.Minute)
				require.Zero(t, f.lapsedSince())
				tt.kernel.set(func(f *fakeFence) { f.dropped = true })
				gone, told := time.Now(), false
				for range lapseTold / checkEvery {
					if tt.during != nil {
						tt.during(tt.kernel, elector, f)
					}
					time.Sleep(checkEvery)
					synctest.Wait()
					told = told || !f.lapsedSince().IsZero()
				}
				require.Equal(t, tt.want, told)
				if !tt.want {
					return
				}
				assert.WithinDuration(t, gone, f.lapsedSince(), lapseLook)
				assert.Equal(t, uint64(1), f.seen().Lapses, "once, for as long as it lasts")
				tt.kernel.set(func(f *fakeFence) { f.dropped = false })
				f.status()
				assert.Zero(t, f.lapsedSince(), "status looks for itself")
			})
		})
	}
}
