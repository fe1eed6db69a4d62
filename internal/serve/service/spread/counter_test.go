package spread

import (
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

func TestCounterHasAnOperatorWaitForTheLastConnection(t *testing.T) {
	began := time.Now()
	settled := began.Add(settle)
	asked := settled.Add(time.Hour)
	one := map[spreadtables.Port]int{{Protocol: 6, Port: 9443}: 1}
	for name, tt := range map[string]struct {
		at    time.Time
		n     map[spreadtables.Port]int
		err   error
		older bool // it was begun before the operator asked
		apart bool // a follower has one
		want  bool
	}{
		"there is one":                   {at: asked.Add(leastSettle), n: one, want: true},
		"there is none":                  {at: asked.Add(leastSettle)},
		"the others may not know yet":    {at: asked, want: true},
		"the kernel does not say":        {at: asked.Add(leastSettle), err: errors.New("interrupted"), want: true},
		"it was counted before he asked": {at: asked.Add(leastSettle), older: true, want: true},
		"a follower has one":             {at: asked.Add(leastSettle), apart: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			var busy atomic.Bool
			c := counter{log: slog.New(slog.DiscardHandler), busy: &busy, elsewhere: func(since time.Time, _ map[netip.Addr]int) bool { return tt.apart && since.Equal(asked) }}
			c.begin(settled)
			busy.Store(true)
			c.drain(asked, asked.Add(time.Minute))
			result := counts{begun: tt.at, drains: 1, tables: []tableCount{{table: &table{}, Census: spreadtables.Census{Ports: tt.n}, err: tt.err}}}
			if tt.older {
				result.drains = 0
			}
			c.take(result)
			assert.Equal(t, tt.want, busy.Load())
			c.end()
			assert.False(t, busy.Load(), "nobody waits between terms")
		})
	}
}

// TestCounterHasASmallShareOfAProcessor, however long the kernel goes through all that it tracks.
func TestCounterHasASmallShareOfAProcessor(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		took           time.Duration
		often, drained bool
		want           time.Duration
	}{
		"few connections":                 {took: time.Millisecond, want: countEvery},
		"many":                            {took: 150 * time.Millisecond, want: 7500 * time.Millisecond},
		"very many":                       {took: 2 * time.Second, want: 2 * countEvery},
		"few, while a member drains":      {took: time.Millisecond, often: true, want: countRemaining},
		"many, while a member drains":     {took: 150 * time.Millisecond, often: true, want: 1500 * time.Millisecond},
		"few, while this node drains":     {took: time.Millisecond, drained: true, want: countDraining},
		"many, while both do":             {took: 150 * time.Millisecond, often: true, drained: true, want: 1500 * time.Millisecond},
		"very many, and this node drains": {took: 2 * time.Second, drained: true, want: countEvery},
	} {
		t.Run(name, func(t *testing.T) {
			c := counter{busy: &atomic.Bool{}}
			c.take(counts{took: tt.took})
			if tt.drained {
				c.draining = now.Add(time.Minute)
			}
			assert.Equal(t, tt.want, c.every(now, tt.often))
		})
	}
	assert.Less(t, 2*countEvery, time.Duration(leastEnding), "what members say of their connections is no older")
}
