package health

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

func TestReversed(t *testing.T) {
	for _, tt := range []struct {
		name       string
		give, want Result
	}{
		{"good", Result{Reason: "exit status 0", Hint: "h"}, Result{Outcome: Fail, Reason: "reversed: exit status 0"}},
		{"bad", Result{Outcome: Fail, Reason: "timeout", Broken: true}, Result{Reason: "reversed: timeout"}},
		{"definite", Result{Outcome: Down, Reason: "refused"}, Result{Reason: "reversed: refused"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, look(t, Reversed(Func(func(context.Context) Result { return tt.give }))))
		})
	}
}

// The counts are those of the result that is turned round.
func TestReversedIsCounted(t *testing.T) {
	inner := Result{Outcome: Fail}
	p, g := Reversed(Func(func(context.Context) Result { return inner })), NewGate(2, 3)
	var states []State
	for _, outcome := range []Outcome{Fail, Pass, Pass, Pass, Down, Down} {
		inner.Outcome = outcome
		g.Step(time.Unix(0, 0), look(t, p))
		s, _ := g.State()
		states = append(states, s)
	}
	assert.Equal(t, []State{Healthy, Healthy, Healthy, Unhealthy, Unhealthy, Healthy}, states)
}

func TestReversedWatcherStaysOne(t *testing.T) {
	_, watches := Reversed(newProcess(config.ListedCheck{Process: "keepvip-test", Watch: true})).(watcher)
	assert.True(t, watches)
	_, watches = Reversed(File(config.ListedCheck{Path: filepath.Join(t.TempDir(), "f")})).(watcher)
	require.False(t, watches)
}
