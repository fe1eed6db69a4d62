package instance

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// What lasted to the end of an entry, or of the process, was not over before.
func TestFaultThatLastsToTheEndIsNotOver(t *testing.T) {
	var told []Transition
	now := time.Now()
	for name, change := range map[string]func(*view){
		"removed": func(v *view) { v.removed = true },
		"ending":  func(v *view) { v.ending = func() bool { return true } },
	} {
		i := newInstance(Config{VIP: config.VIP{Name: "apiserver"}, Moved: func(m Transition) { told = append(told, m) }}, slog.New(slog.DiscardHandler))
		i.faults.told = fault{kind: FaultSilent, since: now.Add(-time.Minute)}
		v := i.shared.now()
		change(&v)
		i.faults.tell(&v, now)
		assert.Empty(t, told, name)
	}
}

// An election by Raft keeps a standby that is held where it is, and mode external has none: both write down that it was held, and who asked.
func TestHoldThatMovesNothingIsWrittenDown(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"raft":     func(in *Config) { in.VIP.Election = config.ElectionRaft },
		"external": func(in *Config) { external(in, "lb", nil) },
	} {
		var told []Transition
		run(t, nil, func(in *Config) {
			change(in)
			in.Moved = func(m Transition) { told = append(told, m) }
		}, func(t *testing.T, b *bench) {
			if name == "raft" {
				e := <-b.electors
				e.set(func(s *election.Status) { s.Members = []election.Member{{Address: nodeA, Self: true, Node: "n1"}} })
				assert.NoError(t, e.decide(election.Standby, nodeB))
			}
			told = nil
			assert.NoError(t, b.Hold(t.Context(), nil, "new kernel", false))
			synctest.Wait()
			time.Sleep(time.Minute)
			if assert.Len(t, told, 1, name) {
				m := told[0]
				assert.Equal(t, []any{FaultHeld, code.Held, "held by an operator: new kernel", false}, []any{m.Fault, m.Code, m.Reason, m.Over}, name)
				assert.Regexp(t, "^uid 0 on (n1|this node)$", m.AskedBy, name)
			}
			assert.NoError(t, b.Resume(nil))
			synctest.Wait()
			if assert.Len(t, told, 2, name) {
				m := told[1]
				assert.Equal(t, []any{FaultHeld, code.Resumed, "resumed by an operator, after 1m0s", true}, []any{m.Fault, m.Code, m.Reason, m.Over}, name)
			}
		})
	}
}
