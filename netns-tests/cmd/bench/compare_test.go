package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestEachCaseOfTheComparisonHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rivalries() {
		assert.NotEmpty(t, r.says, r.name)
		for _, c := range r.cases() {
			assert.False(t, seen[c.key()], c.key())
			seen[c.key()] = true
		}
	}
}

func TestComparisonIsWrittenBetweenItsLines(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pictures"), 0o755))
	page := filepath.Join(dir, "comparison.md")
	require.NoError(t, os.WriteFile(page, []byte("by hand\n"+fmt.Sprintf(measuredBegin, "bench-compare")+"of last year\n"+measuredEnd+"also by hand\n"), 0o644))
	rows := map[string]trial.Row{}
	for i, took := range []time.Duration{7, 311, 329, 1000} {
		row := rows["keepvip: compared: keepvip: node death"]
		row.Results = append(row.Results, &trial.Result{Outage: took * time.Millisecond, Two: time.Duration(i) * time.Millisecond, CPU: 0.5, RSS: 16 << 20})
		rows["keepvip: compared: keepvip: node death"], rows["keepvip: compared: keepvip: idle"] = row, row
	}
	require.NoError(t, writeComparison(dir, rows))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, want := range []string{
		"by hand\n" + fmt.Sprintf(measuredBegin, "bench-compare"), measuredEnd + "also by hand\n",
		"| the holder's node dies | 4 | 320 (7-1000) | - | - | - | - |", "| nothing happens | 4 | 0.5 %, 16.0 MiB | - |", "| the holder's node dies | 4 | 2 (0-3) |", "255 at most", "no check",
	} {
		assert.Contains(t, string(text), want)
	}
	assert.NotContains(t, string(text), "of last year")
	svg, err := os.ReadFile(filepath.Join(dir, "pictures", "comparison.svg"))
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(svg), `class="g"`))

	require.NoError(t, os.WriteFile(page, []byte("no lines\n"), 0o644))
	require.ErrorContains(t, writeComparison(dir, rows), "lacks the lines")
}
