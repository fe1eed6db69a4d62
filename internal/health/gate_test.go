package health

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
		{"refused at the start is definite", 2, 3, "d", "I"},
		{"never healthy before: one pass, as kubeadm init wants it", 2, 3, "dddfp", "IIIIH"},
		{"fall in a row", 2, 3, "pfff", "HHHI"},
		{"a pass resets the fall", 2, 3, "pffpffp", "HHHHHHH"},
		{"refused skips the fall", 2, 3, "pd", "HI"},
		{"refused after fails", 2, 3, "pfd", "HHI"},
		{"rise in a row after an illness", 2, 3, "pdpp", "HIIH"},
		{"a fail resets the rise", 2, 3, "pdpfpp", "HIIIIH"},
		{"refused resets the rise", 3, 3, "pdppdppp", "HIIIIIIH"},
		{"rise 1, fall 1", 1, 1, "pfpf", "HIHI"},
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

func TestStateString(t *testing.T) {
	assert.Equal(t, "unknown healthy unhealthy invalid", strings.Join([]string{Unknown.String(), Healthy.String(), Unhealthy.String(), State(9).String()}, " "))
}
