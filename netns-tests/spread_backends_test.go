//go:build netns

package netnstests

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestSpreadOverBackends: two load balancers share one address before two servers that run no keepvip. One whose service ends gets no
// connections more; one that dies is known, and its clients are told.
func TestSpreadOverBackends(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.Backends())
	for _, got := range shares(t, s, s.Lab.OffLink.Namespace, 400, 2, 30) {
		assert.Equal(t, got.Served(), got.Disguised, "servers see the load balancer")
	}
	for _, e := range trial.BackendEvents() {
		k, judged := keeps(t, s, e, 40)
		if !judged {
			return
		}
		assert.Positive(t, k.Dead, e.Name)
	}
}
