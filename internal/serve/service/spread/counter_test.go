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
