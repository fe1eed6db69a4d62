package fence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An address lives on when this process is killed, until the lifetime that was renewed last is over. The guard, which was renewed a moment before, has
// to be there for longer.
func TestGuardOutlastsTheAddress(t *testing.T) {
	for _, valid := range []time.Duration{4 * time.Second, 5 * time.Second, 60 * time.Second} {
		for _, lease := range []time.Duration{10 * time.Millisecond, 290 * time.Millisecond, 2990 * time.Millisecond, 122 * time.Second} {
			guard := GuardFor(lease, valid)
			assert.Greater(t, guard, lease)
			assert.Greater(t, guard, valid+valid/3, "it was renewed a third of the lifetime before the address, at most")
		}
	}
}
