package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestMediansOfGrowth(t *testing.T) {
	got := medianOf([]trial.Grown{{CPU: 3, Memory: 1, Failover: 30}, {CPU: 1, Memory: 2, Failover: 10}, {CPU: 2, Memory: 3, Failover: 20}})
	assert.Equal(t, trial.Grown{CPU: 2, Memory: 2, Failover: 20}, got)
}

func TestGrowthIsWrittenAsTableAndCurves(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pictures"), 0o755))
	all := map[string][]grownRow{}
	for _, g := range trial.Growths() {
		for i, count := range g.Counts {
			all[g.Name] = append(all[g.Name], grownRow{count, trial.Grown{CPU: float64(1 + i), Memory: 14, Failover: 300 * time.Millisecond, Handover: time.Duration(count*count) * time.Millisecond}})
		}
	}
	require.NoError(t, writeGrowth(dir, trial.Growths(), all, 3))
	text, err := os.ReadFile(filepath.Join(dir, "growth.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "| nodes | processor % | memory MiB | failover ms | handover ms |\n|---|---|---|---|---|\n| 3 | 1.0 | 14.0 | 300 | 9.0 |\n")
	assert.Contains(t, strings.Join(strings.Fields(string(text)), " "), "2.3 times as many nodes: processor 3.0 times, **more than linear**; memory 1.0 times; failover 1.0 times; handover 5.4 times, **more than linear**.")
	for line := range strings.Lines(string(text)) {
		assert.LessOrEqual(t, len(line), 160, line)
	}
	for _, g := range trial.Growths() {
		svg, err := os.ReadFile(filepath.Join(dir, "pictures", "growth-"+g.Name+".svg"))
		require.NoError(t, err)
		assert.Equal(t, len(growthFigures), strings.Count(string(svg), `class="a"`))
		assert.Contains(t, string(text), "pictures/growth-"+g.Name+".svg")
	}
}
