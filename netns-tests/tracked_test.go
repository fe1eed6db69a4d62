//go:build netns

package netnstests

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// TestManyConnectionsThatAreSpread: what the kernel tracks is counted at a bounded cost, none of it is lost by a handover, and a table that is almost full
// is named. By masquerade the clients of thousands of connections are told that only listen.
func TestManyConnectionsThatAreSpread(t *testing.T) {
	t.Parallel()
	shows := trial.SpreadShows()
	for _, name := range []string{"spread: tracked connections", "spread: idle connections", "spread, masquerade: idle connections"} {
		i := slices.IndexFunc(shows, func(s trial.Show) bool { return s.Name == name })
		require.GreaterOrEqual(t, i, 0, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			show(t, shows[i])
		})
	}
}
