package daemon

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// TestNoRouterIsToldBeforeTheTablesAreThere in each term, and each change is said once: what blocks an instance has the service look again.
func TestNoRouterIsToldBeforeTheTablesAreThere(t *testing.T) {
	var said []election.Fitness
	r := &routed{
		blocked:         func(b election.Fitness) { said = append(said, b) },
		servedAddresses: &servedAddresses{addresses: &plainService{}, host: plainHost{}, log: slog.New(slog.DiscardHandler)},
	}
	for range 2 {
		r.Begin(instance.Term{})
		r.stands(false)
		r.stands(true)
		r.stands(true)
	}
	r.stands(false)
	assert.Len(t, said, 5)
	for i, b := range said {
		assert.Equal(t, i%2 == 0, b.Wait)
		assert.False(t, b.Out, "it is fit all the same, and gets its share of what other members receive")
	}
	assert.Equal(t, code.NotSpread, said[0].Code)
}
