package instance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
)

// fakeCheck is a check that reports what the test says.
type fakeCheck struct {
	says   chan health.Verdict
	begun  chan struct{}
	ended  chan struct{}
	newest health.Verdict
}

func newFakeCheck() *fakeCheck {
	return &fakeCheck{says: make(chan health.Verdict), begun: make(chan struct{}), ended: make(chan struct{})}
}

func (f *fakeCheck) as(name, id string, weight int) Check {
	return Check{Name: name, ID: id, Weight: weight, Verdict: func() health.Verdict { return f.newest }, Run: func(ctx context.Context, report func(health.Verdict)) {
		close(f.begun) // twice would panic
		defer close(f.ended)
		for {
			select {
			case <-ctx.Done():
				return
			case v := <-f.says:
				report(v)
			}
		}
	}}
}

// say reports a verdict and waits until the instance has made of it what it will.
func (f *fakeCheck) say(v health.Verdict) {
	f.newest = v
	f.says <- v
	synctest.Wait()
}

func TestSeveralChecksDecideTogether(t *testing.T) {
	a, w := newFakeCheck(), newFakeCheck()
	run(t, nil, func(in *Config) {
		a, w = newFakeCheck(), newFakeCheck()
		in.VIP.Priority, in.Checks = 100, []Check{a.as("a", "1", 0), w.as("w", "1", -10)}
	}, func(t *testing.T, b *bench) {
		e := <-b.electors
		assert.Equal(t, lastPlace, e.fitness().Less)
		a.say(good)
		assert.Equal(t, election.Fitness{}, e.fitness())
		w.say(bad)
		assert.Equal(t, election.Fitness{Less: 10, Reason: "the check w fails: 500", Code: code.CheckWeight}, e.fitness())
		s := b.Status()[0]
		assert.True(t, s.Eligible, "less fit is not unhealthy")
		assert.Equal(t, []string{"a", "w"}, []string{s.Checks[0].Name, s.Checks[1].Name})
		assert.Equal(t, "a", s.Check.Name)
		a.say(bad)
		assert.Equal(t, lastPlace, e.fitness().Less)
		assert.False(t, b.Status()[0].Eligible)
	})
}

func TestAdjustGoesOnWithChecksThatHaveNotChanged(t *testing.T) {
	var kept, changed, gone *fakeCheck
	run(t, nil, func(in *Config) {
		kept, changed, gone = newFakeCheck(), newFakeCheck(), newFakeCheck()
		in.VIP.Priority, in.Checks = 100, []Check{kept.as("kept", "1", 0), changed.as("changed", "1", 0), gone.as("gone", "1", 0)}
	}, func(t *testing.T, b *bench) {
		e := <-b.electors
		kept.say(good)
		changed.say(bad)
		gone.say(good)
		require.Equal(t, "the check changed fails: 500", e.fitness().Reason)

		twin, next, added := newFakeCheck(), newFakeCheck(), newFakeCheck()
		b.Apply(Delta{Adjust: []Config{b.instance(func(in *Config) {
			in.VIP.Priority, in.Checks = 100, []Check{twin.as("kept", "1", -5), next.as("changed", "2", 0), added.as("added", "1", 0)}
		})}})
		<-next.begun
		<-added.begun
		<-changed.ended
		<-gone.ended
		synctest.Wait()
		assert.Equal(t, "the check changed fails: 500", e.fitness().Reason, "until the new one knows better")
		next.say(unknown)
		assert.Equal(t, "the check changed fails: 500", e.fitness().Reason)
		next.say(good)
		assert.Equal(t, election.Fitness{}, e.fitness(), "a check that is new does not move an address before it has a result")
		added.say(bad)
		assert.Equal(t, "the check added fails: 500", e.fitness().Reason)
		added.say(good)
		kept.say(bad)
		assert.Equal(t, 5, e.fitness().Less, "with its new weight")
		select {
		case <-twin.begun:
			assert.Fail(t, "begun beside the one that goes on")
		default:
		}
	})
}

func TestChecksGoOnFromTermToTerm(t *testing.T) {
	var first, second *fakeCheck
	run(t, nil, func(in *Config) {
		first = newFakeCheck()
		in.Checks = []Check{first.as("", "1", 0)}
	}, func(t *testing.T, b *bench) {
		e := <-b.electors
		second = newFakeCheck()
		b.Apply(Delta{Adjust: []Config{b.instance(func(in *Config) { in.Checks = []Check{second.as("", "2", 0)} })}})
		b.place.set(func(h *fakePlace) { h.place.Index = 7 })
		b.HostChanged()
		<-e.ended
		e = <-b.electors
		second.say(bad)
		assert.Equal(t, "the health check fails: 500", e.fitness().Reason, "a check that a reload began goes on after the term")
	})
}

func TestMetricsOfEachCheck(t *testing.T) {
	var a, w *fakeCheck
	run(t, nil, func(in *Config) {
		a, w = newFakeCheck(), newFakeCheck()
		in.Checks = []Check{a.as("a", "1", 0), w.as("w", "1", -10)}
	}, func(t *testing.T, b *bench) {
		<-b.electors
		a.say(health.Verdict{State: health.Healthy, Probes: 7, Failures: 2, Changes: 1, Falls: 3, Expires: time.Unix(1_900_000_000, 0)})
		w.say(health.Verdict{State: health.Unhealthy})
		reg := prometheus.NewRegistry()
		reg.MustRegister(NewCollector(b.Set))
		families, err := reg.Gather()
		require.NoError(t, err)
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "check" {
						got[f.GetName()+" "+l.GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
					}
				}
			}
		}
		assert.Equal(t, map[string]float64{
			"keepvip_check_healthy a": 1, "keepvip_check_healthy w": 0,
			"keepvip_check_probes_total a": 7, "keepvip_check_probes_total w": 0,
			"keepvip_check_failures_total a": 2, "keepvip_check_failures_total w": 0,
			"keepvip_check_unasked_total a": 0, "keepvip_check_unasked_total w": 0,
			"keepvip_check_changes_total a": 1, "keepvip_check_changes_total w": 0,
			"keepvip_check_falls a": 3, "keepvip_check_falls w": 0,
			"keepvip_check_certificate_expiry_timestamp_seconds a": 1_900_000_000,
			"keepvip_check_weight a":                               0, "keepvip_check_weight w": -10,
		}, got)
	})
}
