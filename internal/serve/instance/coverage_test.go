package instance

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

func TestNodeAtWhoseAddressNothingListensComesAfterTheOthers(t *testing.T) {
	v := view{cfg: &Config{VIP: config.VIP{Priority: 100}}}
	assert.Zero(t, v.fitness())
	v.uncovered = "it is elsewhere"
	f := v.fitness()
	assert.Equal(t, 98, f.Less, "priority 2")
	assert.Equal(t, code.NotCovered, f.Code)
	assert.True(t, readiness(f).Fit, "where no node is better it serves")
	v.blocked = election.Fitness{Out: true, Reason: "no carrier"}
	f = v.fitness()
	assert.Equal(t, "no carrier", f.Reason)
	assert.Equal(t, lastPlace, f.Less)
}
