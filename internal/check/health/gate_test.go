package health

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// A gate's history is written as one letter a probe, p(ass) f(ail) d(own), and one a state, u(nknown) H(ealthy) I(ll).
func TestGateStep(t *testing.T) {
	tests := []struct {
		name       string
		rise, fall int
		give, want string
	}{
		{"first pass is enough", 2, 3, "p", "H"},
		{"first fail is no failure", 2, 3, "f", "u"},
		{"unknown until fall", 2, 3, "fff", "uuI"},
		{"a pass ends the unknown", 2, 3, "ffp", "uuH"},
		{"refused at the start is looked at twice", 2, 3, "dd", "uI"},
		{"the first result decides nothing, not even with fall 1 for a pass after it", 2, 3, "dp", "uH"},
		{"refused after a fail at the start", 2, 3, "fd", "uI"},
		{"never healthy before: one pass, as kubeadm init wants it", 2, 3, "dddfp", "uIIIH"},
		{"fall in a row", 2, 3, "pfff", "HHHI"},
		{"a pass resets the fall", 2, 3, "pffpffp", "HHHHHHH"},
		{"refused skips the fall", 2, 3, "pd", "HI"},
		{"refused after fails", 2, 3, "pfd", "HHI"},
		{"rise in a row after it was unhealthy", 2, 3, "pdpp", "HIIH"},
		{"a fail resets the rise", 2, 3, "pdpfpp", "HIIIIH"},
		{"refused resets the rise", 3, 3, "pdppdppp", "HIIIIIIH"},
		{"rise 1, fall 1", 1, 1, "pfpf", "HIHI"},
		{"the second fall makes the rise 16 times as long", 1, 1, "pfpf" + strings.Repeat("p", 16), "HIHI" + strings.Repeat("I", 15) + "H"},
		{"the third, 24 times", 1, 1, "pfpf" + strings.Repeat("p", 16) + "f" + strings.Repeat("p", 24), "HIHI" + strings.Repeat("I", 15) + "HI" + strings.Repeat("I", 23) + "H"},
		{"while damped a fail costs a quarter of the count", 1, 1, "pfpf" + strings.Repeat("p", 12) + "f" + strings.Repeat("p", 8), "HIHI" + strings.Repeat("I", 12) + "I" + strings.Repeat("I", 7) + "H"},
		{"and refused all of it", 1, 1, "pfpf" + strings.Repeat("p", 12) + "d" + strings.Repeat("p", 16), "HIHI" + strings.Repeat("I", 12) + "I" + strings.Repeat("I", 15) + "H"},
		{"counts below one are one", 0, -1, "pfp", "HIH"},
		{"noise of one in two never falls", 2, 3, "pfpfpfpffpf", "HHHHHHHHHHH"},
	}
	letters := map[State]string{Unknown: "u", Healthy: "H", Unhealthy: "I"}
	outcomes := map[rune]Outcome{'p': Pass, 'f': Fail, 'd': Down}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewGate(tt.rise, tt.fall)
			var got strings.Builder
			for i, letter := range tt.give {
				before, since := g.State()
				now := time.Unix(int64(i+1), 0)
				changed := g.Step(now, Result{Outcome: outcomes[letter]})
				after, at := g.State()
				assert.Equal(t, before != after, changed, "probe %d", i+1)
				if changed {
					since = now
				}
				assert.Equal(t, since, at, "probe %d", i+1)
				got.WriteString(letters[after])
			}
			assert.Equal(t, tt.want, got.String())
		})
	}
}

func TestGateStreak(t *testing.T) {
	g := NewGate(2, 3)
	var got []int
	for _, o := range []Outcome{Pass, Fail, Fail, Pass, Fail, Fail, Fail, Fail, Pass, Fail, Pass, Pass} {
		g.Step(time.Unix(0, 0), Result{Outcome: o})
		got = append(got, g.Streak())
	}
	assert.Equal(t, []int{0, 1, 2, 0, 1, 2, 0, 0, 1, 0, 1, 0}, got)
}

func TestGateForgetsAFallForEachMinuteOfHealth(t *testing.T) {
	g, now := NewGate(1, 1), time.Unix(0, 0)
	step := func(o Outcome, after time.Duration) (falls, rise int) {
		now = now.Add(after)
		g.Step(now, Result{Outcome: o})
		return g.Falls()
	}
	both := func(a, b int) []int { return []int{a, b} }
	step(Pass, 0)
	for range 4 {
		step(Fail, time.Second)
		for range dampMost {
			step(Pass, 10*time.Millisecond)
		}
	}
	assert.Equal(t, []int{4, 24}, both(step(Pass, 59*time.Second)))
	assert.Equal(t, []int{3, 24}, both(step(Pass, time.Second)))
	assert.Equal(t, []int{1, 1}, both(step(Pass, 2*time.Minute)))
	assert.Equal(t, []int{2, 16}, both(step(Fail, 59*time.Second)), "a minute that was broken does not count")
	assert.Equal(t, []int{2, 16}, both(step(Fail, time.Hour)), "nor does one of bad health")
	for range dampMost {
		step(Pass, time.Millisecond)
	}
	assert.Equal(t, []int{0, 1}, both(step(Pass, time.Hour)))
}

// A probe that comes less often than once a minute is damped for no longer than one that comes once a minute.
func TestDampingHasABoundWhateverTheInterval(t *testing.T) {
	for interval, want := range map[time.Duration]int{
		10 * time.Millisecond: 48, 300 * time.Millisecond: 48, 10 * time.Second: 6, time.Minute: 2, time.Minute + time.Millisecond: 2, 2 * time.Minute: 2, 10 * time.Minute: 2,
	} {
		c, err := newChecker(always{}, given(config.ListedCheck{Interval: interval}), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		c.gate.falls = 9
		_, rise := c.gate.Falls()
		assert.Equal(t, want, rise, "%v", interval)
	}
}

func TestGateDampingHasABound(t *testing.T) {
	tests := []struct {
		name                    string
		rise, most, falls, want int
	}{
		{"none", 2, 0, 9, 48},
		{"binding", 2, 6, 2, 6},
		{"not binding", 2, 200, 9, 48},
		{"never below the rise", 10, 6, 9, 10},
		{"no fall", 2, 6, 0, 2},
		{"very many falls", 2, 0, 1 << 40, 48},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewGate(tt.rise, 1)
			g.most, g.falls = tt.most, tt.falls
			_, rise := g.Falls()
			assert.Equal(t, tt.want, rise)
		})
	}
}

// A plain gate decides as keepalived 2.2.7 does: see the scenarios of check scripts in netns-tests.
func TestGatePlain(t *testing.T) {
	const h, b = Healthy, Unhealthy
	for _, tt := range []struct {
		name       string
		rise, fall int
		distrusted bool
		give       []Outcome
		want       []State
	}{
		{"the first failure counts alone", 2, 3, false, []Outcome{Fail, Pass, Pass, Fail, Fail, Fail}, []State{b, b, h, h, h, b}},
		{"the first success counts alone", 3, 2, false, []Outcome{Pass, Fail, Fail, Pass, Pass, Pass}, []State{h, h, b, b, b, h}},
		{"and of one that is bad at first", 3, 2, true, []Outcome{Pass, Fail, Pass, Fail}, []State{h, h, h, h}},
		{"which needs rise after a failure", 2, 2, true, []Outcome{Fail, Pass, Fail, Pass, Pass}, []State{b, b, b, b, h}},
		{"no damping", 1, 1, false, []Outcome{Pass, Fail, Pass, Fail, Pass, Fail, Pass}, []State{h, b, h, b, h, b, h}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := NewGate(tt.rise, tt.fall)
			g.plain = true
			if tt.distrusted {
				g.distrust()
			}
			var got []State
			for i, o := range tt.give {
				g.Step(time.Unix(int64(i+1), 0), Result{Outcome: o})
				s, _ := g.State()
				got = append(got, s)
			}
			assert.Equal(t, tt.want, got)
			falls, rise := g.Falls()
			assert.Equal(t, []int{0, tt.rise}, []int{falls, rise})
		})
	}
}

func TestStateString(t *testing.T) {
	assert.Equal(t, "unknown healthy unhealthy invalid", strings.Join([]string{Unknown.String(), Healthy.String(), Unhealthy.String(), State(9).String()}, " "))
}

// A check that is bad from the start becomes good by as many passes as after a fall.
func TestGateThatBeginsUnhealthy(t *testing.T) {
	for _, tt := range []struct {
		rise int
		give []Outcome
		want []State
	}{
		{1, []Outcome{Pass}, []State{Healthy}},
		{3, []Outcome{Pass, Pass, Pass}, []State{Unhealthy, Unhealthy, Healthy}},
		{2, []Outcome{Fail, Pass, Down, Pass, Pass}, []State{Unhealthy, Unhealthy, Unhealthy, Unhealthy, Healthy}},
	} {
		g := NewGate(tt.rise, 3)
		g.distrust()
		var got []State
		for i, o := range tt.give {
			g.Step(time.Unix(int64(i+1), 0), Result{Outcome: o})
			s, since := g.State()
			assert.False(t, since.IsZero())
			got = append(got, s)
		}
		assert.Equal(t, tt.want, got)
	}
}

// While nobody else is good the first good probe counts, however often the service fell before.
func TestGateIsNotDampedWhileNobodyElseIsGood(t *testing.T) {
	now, g := time.Unix(1_700_000_000, 0), NewGate(2, 3)
	step := func(o Outcome) State {
		now = now.Add(300 * time.Millisecond)
		g.Step(now, Result{Outcome: o})
		s, _ := g.State()
		return s
	}
	step(Pass)
	for range 3 {
		require.Equal(t, Unhealthy, step(Down))
		g.alone = true
		require.Equal(t, Healthy, step(Pass))
		g.alone = false
	}
	step(Down)
	for range 20 {
		require.Equal(t, Unhealthy, step(Pass), "another one is good")
	}
	fresh := NewGate(2, 3)
	fresh.distrust()
	fresh.alone = true
	fresh.Step(now, Result{Outcome: Pass})
	s, _ := fresh.State()
	assert.Equal(t, Unhealthy, s, "one that is bad from the start has to rise first")
}
