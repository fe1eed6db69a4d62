package places

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestTurnsPauseAfterSoManyCallers(t *testing.T) {
	const least = 2500 * time.Microsecond
	tests := []struct {
		name  string
		after time.Duration // between two callers
		turns Turns
		batch time.Duration // what eight callers take, with the pause
	}{
		{name: "none", turns: Turns{}, after: time.Microsecond, batch: 8 * time.Microsecond},
		{name: "immediately", turns: Turns{Of: 8}, batch: time.Millisecond},
		{name: "immediately, at least so long", turns: Turns{Of: 8, Least: least}, batch: least},
		{name: "some time, at least so long", turns: Turns{Of: 8, Least: least}, after: 100 * time.Microsecond, batch: least},
		{name: "longer than a turn", turns: Turns{Of: 8, Least: least}, after: time.Millisecond, batch: 9 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				tt.turns.paused = time.Now()
				began := time.Now()
				for range 10*8 + 3 {
					time.Sleep(tt.after)
					tt.turns.Next()
				}
				assert.Equal(t, 10*tt.batch+3*tt.after, time.Since(began))
			})
		})
	}
}
