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

// TestDetectorTable has a row for each loss, with both detectors, between the lines of the document.
func TestDetectorTable(t *testing.T) {
	rows, lost := map[string]trial.Row{}, map[string]int{}
	for _, c := range cases() {
		if c.lost == "" {
			continue
		}
		lost[c.lost]++
		row := trial.Row{Name: c.name}
		row.Add(&trial.Result{Outage: map[bool]time.Duration{true: 250 * ms, false: 40 * ms}[strings.HasPrefix(c.name, plainDetector)], Takeovers: 1, Two: 7 * ms})
		rows[c.key()] = row
	}
	for what, n := range lost {
		assert.Equal(t, 2, n, what)
	}
	page := filepath.Join(t.TempDir(), "detector.md")
	require.NoError(t, os.WriteFile(page, []byte("by hand\n<!-- measured: make bench-detector writes up to the next such line -->\nof last year\n"+measuredEnd+"also\n"), 0o600))
	require.NoError(t, writeDetector(page, rows))
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, len(lost), strings.Count(string(b), " | 250 | 1 | 7 | 40 | 1 | 7 |\n"), "%s", b)
	assert.NotContains(t, string(b), "of last year")
	assert.True(t, strings.HasPrefix(string(b), "by hand\n") && strings.HasSuffix(string(b), measuredEnd+"also\n"))
	require.NoError(t, os.WriteFile(page, []byte("nothing of it"), 0o600))
	require.ErrorContains(t, writeDetector(page, rows), "lacks the lines")
}
