package health

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
)

// heard is a Checker that runs, and what it has reported.
type heard struct {
	*Checker
	stop func() // waits for the end

	mu     sync.Mutex
	states []State
	at     []time.Duration // since it began
}

func (h *heard) said() ([]State, []time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]State(nil), h.states...), append([]time.Duration(nil), h.at...)
}

// hear runs one more Checker of p. Its reports wait for so long until they are taken.
func hear(t *testing.T, p *Probing, cfg config.ListedCheck, slow time.Duration) *heard {
	t.Helper()
	c, err := p.Checker(cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	h := &heard{Checker: c}
	ctx, cancel := context.WithCancel(t.Context())
	start, done := time.Now(), make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx, func(v Verdict) {
			time.Sleep(slow)
			h.mu.Lock()
			defer h.mu.Unlock()
			h.states, h.at = append(h.states, v.State), append(h.at, time.Since(start))
		})
	}()
	h.stop = func() { cancel(); <-done }
	return h
}

func TestCheckersOfOneProbeAskOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, pass, pass, fail}}
		cfg := given(config.ListedCheck{Interval: time.Second})
		p := NewProbing(s, cfg)
		var told uint64 // results; one more may have begun
		p.Observe(func(time.Duration) { told++ })
		quick, patient := cfg, cfg
		quick.Fall, patient.Fall = 1, 5
		slow := hear(t, p, cfg, 400*time.Millisecond)
		hasty, late := hear(t, p, quick, 0), hear(t, p, patient, 0)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		assert.InDelta(t, 20, told, 3, "as often as for one")
		assert.False(t, s.overlap)
		for _, h := range []*heard{slow, hasty, late} {
			states, _ := h.said()
			assert.Equal(t, []State{Healthy, Unhealthy}, states)
			assert.Equal(t, told, h.Verdict().Probes)
		}
		_, hastily := hasty.said()
		_, lately := late.said()
		assert.InDelta(t, 4*time.Second, lately[1]-hastily[1], float64(time.Second), "each counts for itself, and waits for nobody")

		slow.stop()
		hasty.stop()
		before := len(s.begun())
		time.Sleep(10 * time.Second)
		assert.InDelta(t, 10, len(s.begun())-before, 2, "asked while one runs")
		late.stop()
		before = len(s.begun())
		time.Sleep(10 * time.Second)
		assert.Len(t, s.begun(), before, "nobody hears")
	})
}

func TestCheckerThatJoinsHearsTheNewestResult(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, pass, down}}
		p := NewProbing(s, given(config.ListedCheck{Interval: 10 * time.Second}))
		first := hear(t, p, given(config.ListedCheck{}), 0)
		defer first.stop()
		time.Sleep(5 * time.Second)
		second := hear(t, p, given(config.ListedCheck{}), 0)
		defer second.stop()
		synctest.Wait()
		states, at := second.said()
		assert.Equal(t, []State{Healthy}, states)
		assert.Zero(t, at[0])
		assert.Len(t, s.begun(), 1, "nothing is asked for it")

		r, err := second.Fresh(t.Context())
		require.NoError(t, err)
		assert.Equal(t, Pass, r.Outcome)
		assert.Len(t, s.begun(), 2)

		time.Sleep(12 * time.Second)
		third := hear(t, p, given(config.ListedCheck{}), 0)
		defer third.stop()
		synctest.Wait()
		assert.Len(t, s.begun(), 4, "what is definite for the first time is looked at once more")
		for _, h := range []*heard{first, second, third} {
			assert.Equal(t, Unhealthy, h.Verdict().State)
		}
	})
}

func TestProbeBeginsAnewForACheckerAfterTheLast(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, hang, pass}}
		p := NewProbing(s, given(config.ListedCheck{Interval: time.Second, Timeout: 30 * time.Second}))
		one := hear(t, p, given(config.ListedCheck{}), 0)
		time.Sleep(2 * time.Second)
		begun := time.Now()
		go one.stop()
		synctest.Wait()
		next := hear(t, p, given(config.ListedCheck{}), 0)
		defer next.stop()
		synctest.Wait()
		assert.Zero(t, time.Since(begun), "the probe that hangs ends with the last that hears of it")
		time.Sleep(10 * time.Millisecond)
		states, _ := next.said()
		assert.Equal(t, []State{Healthy}, states)
		assert.Equal(t, uint64(1), next.Verdict().Probes, "of a probe of its own")
		assert.False(t, s.overlap)
	})
}
