//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestSpreadOverBackends: two load balancers share one address before two servers that run no keepvip. One whose service ends gets no
// connections more; one that dies is known, and its clients are told.
func TestSpreadOverBackends(t *testing.T) {
	t.Parallel()
	s := openSpread(t, trial.SpreadConfig{Nodes: 4, Running: 2, Product: trial.WithSpread{Masquerade: true, Backends: 2}})
	backends := s.Lab.Nodes[2:]
	for _, target := range s.Targets() {
		got, err := s.Lab.Sample(s.Lab.OffLink.Namespace, target, 400)
		require.NoError(t, err)
		t.Logf("%s: %s", target, got)
		assert.Equal(t, 400, got.Served(), "%s: %s", target, got)
		assert.LessOrEqual(t, got.Worst(2), 30.0, "%s: %s", target, got)
		assert.Equal(t, 400, got.Disguised, "servers see the load balancer")
	}
	k, err := s.Keep(trial.SpreadEvent{Name: "a backend dies", Stall: time.Second, Do: func(x *trial.SpreadMove) (*lab.Node, error) {
		_, err := backends[0].PowerOff()
		if err != nil {
			return nil, err
		}
		return backends[0], x.ServedBy(backends[1])
	}}, 40)
	require.NoError(t, err)
	t.Logf("a backend dies: %+v", k)
	assert.Zero(t, k.Lost, "those to the other: %s", k.How)
	assert.Positive(t, k.Dead)
	assert.Zero(t, k.Silent, "clients of the dead are told")
}
