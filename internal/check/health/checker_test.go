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
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// script is a Prober whose answers are written down; the last one repeats.
type script struct {
	mu      sync.Mutex
	steps   []step
	starts  []time.Time
	running int
	overlap bool
}

type step struct {
	Result
	takes time.Duration // a negative one hangs until the context ends
}

func (s *script) Probe(ctx context.Context) Result {
	s.mu.Lock()
	at := s.steps[min(len(s.starts), len(s.steps)-1)]
	s.starts = append(s.starts, time.Now())
	s.running++
	s.overlap = s.overlap || s.running > 1
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.running--; s.mu.Unlock() }()
	if at.takes < 0 {
		<-ctx.Done()
		return Result{Outcome: Fail, Reason: "timeout"}
	}
	time.Sleep(at.takes)
	return at.Result
}

func (s *script) begun() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.starts...)
}

var (
	pass   = step{Result: Result{Outcome: Pass, Reason: "200"}, takes: 5 * time.Millisecond}
	fail   = step{Result: Result{Outcome: Fail, Reason: "500", Code: code.CheckStatus}, takes: 5 * time.Millisecond}
	down   = step{Result: Result{Outcome: Down, Reason: "connection refused", Code: code.CheckRefused}}
	broken = step{Result: Result{Outcome: Fail, Reason: "connection cut", Broken: true, Code: code.CheckCut}}
	hang   = step{takes: -1}
)

// run starts a checker in the bubble for a while and returns what it reported, with the times since the start.
func run(t *testing.T, s *script, cfg config.ListedCheck, d time.Duration, during func(*Checker)) (reports []Verdict, at []time.Duration) {
	t.Helper()
	c, err := newChecker(s, cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	start, done := time.Now(), make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx, func(v Verdict) {
			if now := c.Verdict(); assert.GreaterOrEqual(t, now.Probes, v.Probes) && now.Probes == v.Probes {
				assert.Equal(t, v, now, "the report and the accessor agree")
			}
			reports, at = append(reports, v), append(at, time.Since(start))
		})
	}()
	if during != nil {
		during(c)
	}
	<-done
	assert.False(t, s.overlap, "two probes at once")
	return reports, at
}

func TestCheckerReportsFirstVerdictAndChanges(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{fail, pass, fail, fail, fail, fail, pass, pass, pass}}
		reports, _ := run(t, s, given(config.ListedCheck{}), 5*time.Second, nil)
		var states []State
		for _, v := range reports {
			states = append(states, v.State)
		}
		assert.Equal(t, []State{Unknown, Healthy, Unhealthy, Healthy}, states)
		assert.Equal(t, "500", reports[2].Reason)
		assert.Equal(t, uint64(5), reports[2].Probes)
		assert.Equal(t, uint64(4), reports[2].Failures)
		assert.Equal(t, uint64(3), reports[3].Changes)
		assert.Equal(t, reports[3].LastProbe, reports[3].Since)
		assert.Equal(t, 0.005, reports[3].Latency)
	})
}

func TestCheckerSeesRefusedWithinAnInterval(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, pass, down}}
		reports, at := run(t, s, given(config.ListedCheck{}), 2*time.Second, nil)
		require.Len(t, reports, 2)
		assert.Equal(t, Unhealthy, reports[1].State)
		assert.LessOrEqual(t, at[1], 2*330*time.Millisecond)
	})
}

func TestCheckerHangCostsFallTimeouts(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, hang}}
		reports, at := run(t, s, given(config.ListedCheck{}), 4*time.Second, nil)
		require.Len(t, reports, 2)
		assert.Equal(t, Unhealthy, reports[1].State)
		assert.LessOrEqual(t, at[1], 330*time.Millisecond+3*600*time.Millisecond, "a probe that took longer than the interval is followed at once")
	})
}

func TestCheckerKeepsTheIntervalWithJitter(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass}}
		run(t, s, given(config.ListedCheck{Interval: time.Second}), 5*time.Minute, nil)
		starts, distinct := s.begun(), map[time.Duration]bool{}
		for i := 1; i < len(starts); i++ {
			gap := starts[i].Sub(starts[i-1])
			assert.InDelta(t, float64(time.Second), float64(gap), float64(100*time.Millisecond))
			distinct[gap] = true
		}
		assert.InDelta(t, 300, len(starts), 15)
		assert.Greater(t, len(distinct), 10, "probes march in step")
	})
}

func TestCheckerKickProbesAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, down}}
		reports, at := run(t, s, given(config.ListedCheck{Interval: time.Minute}), 50*time.Second, func(c *Checker) {
			time.Sleep(10 * time.Second)
			c.probing.kick.Send()
		})
		require.Len(t, reports, 2)
		assert.Equal(t, 10*time.Second, at[1])
	})
}

func TestCheckerKickDuringProbeIsKept(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{{Result: pass.Result, takes: 500 * time.Millisecond}, down}}
		_, at := run(t, s, given(config.ListedCheck{Interval: time.Minute}), 50*time.Second, func(c *Checker) {
			time.Sleep(100 * time.Millisecond)
			c.probing.kick.Send()
			c.probing.kick.Send()
		})
		require.Len(t, at, 2)
		assert.Equal(t, 500*time.Millisecond, at[1])
		assert.Len(t, s.begun(), 2, "two kicks, one probe")
	})
}

func TestCheckerLooksAgainAfterABrokenConnection(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, broken, down}}
		reports, at := run(t, s, given(config.ListedCheck{}), 500*time.Millisecond, nil)
		require.Len(t, reports, 2)
		assert.Equal(t, Unhealthy, reports[1].State)
		assert.LessOrEqual(t, at[1], 330*time.Millisecond)
	})
}

func TestCheckerDoesNotHammerAServerThatCutsEverything(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, broken}}
		run(t, s, given(config.ListedCheck{Interval: time.Second}), time.Minute, nil)
		assert.LessOrEqual(t, len(s.begun()), 70)
	})
}

func TestCheckerEndOfContextIsNoFailure(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass, hang}}
		reports, _ := run(t, s, given(config.ListedCheck{Timeout: time.Hour, Fall: 1}), time.Second, nil)
		assert.Len(t, reports, 1, "the probe that the shutdown cut is not reported")
	})
}

func TestAlwaysIsHealthyOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c := Always()
		var reports []Verdict
		c.Run(ctx, func(v Verdict) { reports = append(reports, v) })
		require.Len(t, reports, 1)
		assert.Equal(t, Healthy, reports[0].State)
		assert.Equal(t, "no check configured", c.Verdict().Reason)
	})
}

func TestPause(t *testing.T) {
	tests := []struct {
		name           string
		interval, took time.Duration
		random         float64
		want           time.Duration
	}{
		{"middle", time.Second, 0, 0.5, time.Second},
		{"earliest", time.Second, 0, 0, 900 * time.Millisecond},
		{"latest", time.Second, 0, 1, 1100 * time.Millisecond},
		{"counted from the start", time.Second, 300 * time.Millisecond, 0.5, 700 * time.Millisecond},
		{"longer than the interval", 300 * time.Millisecond, 600 * time.Millisecond, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, pause(tt.interval, tt.took, tt.random)) })
	}
}

func TestFastCheckKeepsTheIntervalWithJitter(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &script{steps: []step{pass}}
		run(t, s, given(config.ListedCheck{Interval: 100 * time.Millisecond}), time.Minute, nil)
		starts, distinct := s.begun(), map[time.Duration]bool{}
		for i := 1; i < len(starts); i++ {
			gap := starts[i].Sub(starts[i-1])
			assert.InDelta(t, float64(100*time.Millisecond), float64(gap), float64(10*time.Millisecond))
			distinct[gap] = true
		}
		assert.InDelta(t, 600, len(starts), 15)
		assert.Greater(t, len(distinct), 2, "probes march in step")
	})
}

func newHTTPChecker(cfg config.ListedCheck, log *slog.Logger) (*Checker, error) {
	p, err := HTTP(cfg)
	if err != nil {
		return nil, err
	}
	return newChecker(p, cfg, log)
}

func TestHTTPCheckThatIsRefused(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	tests := []struct {
		name string
		give config.ListedCheck
		want string
	}{
		{"no URL", given(config.ListedCheck{}), `health: URL "", want an absolute http or https URL`},
		{"scheme", given(config.ListedCheck{URL: "ftp://127.0.0.1/"}), `health: URL "ftp://127.0.0.1/", want an absolute http or https URL`},
		{"no host", given(config.ListedCheck{URL: "https:///readyz"}), `health: URL "https:///readyz", want an absolute http or https URL`},
		{"relative", given(config.ListedCheck{URL: "/readyz"}), `health: URL "/readyz", want an absolute http or https URL`},
		{"negative", given(config.ListedCheck{URL: "http://127.0.0.1/", Fall: -1}), `health: interval 300ms, timeout 600ms, rise 2, fall -1, want positive values`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newHTTPChecker(tt.give, log)
			assert.EqualError(t, err, tt.want)
		})
	}
	_, err := newHTTPChecker(given(config.ListedCheck{URL: "http://127.0.0.1/"}), nil)
	assert.EqualError(t, err, "health: no logger")
}

func TestCheckerTellsHowLongEachProbeTook(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := Always()
		var took []time.Duration
		c.Observe(func(d time.Duration) { took = append(took, d) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.Run(ctx, func(Verdict) {}) }()
		synctest.Wait()
		cancel()
		<-ended
		assert.Equal(t, []time.Duration{0}, took)
	})
}

// What all servers of an address do at once is no reason to leave the address without any.
func TestCheckerAsksWhetherNobodyElseIsGood(t *testing.T) {
	for name, alone := range map[string]bool{"alone": true, "another one is good": false} {
		bubble.Test(t, func(t *testing.T) {
			s := &script{steps: []step{pass, down, pass, pass, down, pass, pass, down, pass}}
			asked := 0
			c, err := newChecker(s, given(config.ListedCheck{Interval: 100 * time.Millisecond}), slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			c.Alone(func(context.Context) bool { asked++; return alone })
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			c.Run(ctx, func(Verdict) {})
			want := Unhealthy
			if alone {
				want = Healthy
			}
			assert.Equal(t, want, c.Verdict().State, name)
			assert.Positive(t, asked)
		})
	}
}
