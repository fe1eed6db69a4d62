package drill

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// probing runs a prober for a second against an address that behaves as connect says, by the time since the beginning.
func probing(t *testing.T, connect func(ctx context.Context, at time.Duration) error, test func(*Prober)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		began := time.Now()
		p := NewProber(netip.MustParseAddrPort("10.0.0.100:6443"))
		p.connect = func(ctx context.Context, _ string) error { return connect(ctx, time.Since(began)) }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.Run(ctx)
		test(p)
	})
}

func silence(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestProberMeasuresASilence(t *testing.T) {
	connect := func(ctx context.Context, at time.Duration) error {
		if at >= 300*ms && at < 400*ms {
			return silence(ctx)
		}
		return nil
	}
	probing(t, connect, func(p *Prober) {
		s := p.Seen()
		assert.InDelta(t, 0.1, s.Longest.Length.Seconds(), Interval.Seconds())
		assert.Equal(t, Interval, s.Coarsest)
		assert.InDelta(t, 333, s.Sent, 2)
	})
}

// What is on its way is bounded, however long nothing answers.
func TestProberBoundsWhatIsOpen(t *testing.T) {
	var mu sync.Mutex
	open, most := 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		open += n
		most = max(most, open)
	}
	connect := func(ctx context.Context, _ time.Duration) error {
		count(1)
		defer count(-1)
		return silence(ctx)
	}
	probing(t, connect, func(p *Prober) {
		assert.LessOrEqual(t, most, mostOpen)
		assert.Zero(t, open)
		assert.InDelta(t, 1, p.Seen().Longest.Length.Seconds(), 0.01)
		answered, _ := p.Answers()
		assert.False(t, answered)
	})
}

func TestProberTakesARefusalForAnAnswerWhereNobodyListens(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second error
		lost, all     bool
	}{
		"nobody listens":      {unix.ECONNREFUSED, unix.ECONNREFUSED, false, true},
		"somebody did before": {nil, unix.ECONNREFUSED, true, false},
		"somebody does after": {unix.ECONNREFUSED, nil, true, false},
		"nobody answers":      {unix.ETIMEDOUT, unix.ETIMEDOUT, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			connect := func(_ context.Context, at time.Duration) error {
				if at < 500*ms {
					return tt.first
				}
				return tt.second
			}
			probing(t, connect, func(p *Prober) {
				assert.Equal(t, tt.lost, p.Seen().Lost > 0)
				assert.Equal(t, tt.all, p.Seen().AllRefused())
			})
		})
	}
}
