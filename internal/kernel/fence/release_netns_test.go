//go:build netns

package fence

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/kernel/link"
)

// TestFenceReleaseIsQuick measures what lies between a SIGTERM and the advertisement by which another node takes over.
func TestFenceReleaseIsQuick(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	steps := []struct {
		name string
		do   func() error
	}{
		{"Hold", func() error { return f.hold(4) }},
		{"Shut what comes in", func() error { return f.shut(4, discovery|inward) }},
		{"ResetTCP", func() error { _, err := link.ResetTCP(t.Context(), vip4); return err }},
		{"Shut what leaves", func() error { return f.shut(4, outward) }},
		{"Release", func() error { return f.release(4) }},
	}
	took := map[string][]time.Duration{}
	for range 20 {
		for _, s := range steps {
			start := time.Now()
			require.NoError(t, s.do(), s.name)
			took[s.name] = append(took[s.name], time.Since(start))
		}
	}
	var release time.Duration
	for _, s := range steps {
		slices.Sort(took[s.name])
		t.Logf("%s: quickest %s, median %s, worst %s", s.name, took[s.name][0], took[s.name][10], took[s.name][19])
		if s.name != "Hold" {
			release += took[s.name][0]
		}
	}
	t.Logf("a release of the quickest steps: %s", release)
	assert.Less(t, release, 10*time.Millisecond, "none of them waits for anything")
}
