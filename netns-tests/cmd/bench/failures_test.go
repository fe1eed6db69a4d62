package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestFailureModesFromResults(t *testing.T) {
	dir := t.TempDir()
	results, page := filepath.Join(dir, "results"), filepath.Join(dir, "failure-modes.md")
	f, err := os.Create(results)
	require.NoError(t, err)
	report := &lab.Report{HTTPS: []lab.StreamReport{{}}}
	for _, r := range []trial.Result{
		{Case: "apiserver killed", Product: "keepvip", Seen: 1600 * time.Microsecond, Outage: 0, HTTPS: 60 * ms, Takeovers: 1, Report: report},
		{Case: "apiserver killed", Product: "keepvip", Seen: 3 * ms, Outage: 0, HTTPS: 90 * ms, Takeovers: 1, Report: report},
		{Case: "apiserver killed", Product: "keepvip", Seen: time.Second, Stall: time.Second, Report: report},
		{Case: "router lost", Product: "keepvip", Seen: 1700 * ms, Takeovers: 1},
		{Case: "apiserver killed", Product: "keepalived", Seen: time.Hour},
	} {
		require.NoError(t, json.NewEncoder(f).Encode(r))
	}
	require.NoError(t, f.Close())
	rows, err := readResults(results)
	require.NoError(t, err)
	require.NoError(t, writeFailures(page, rows))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "|---|---|---|---|---|---|\n")
	assert.Equal(t, "| the apiserver is killed (SIGKILL) | 2 | 2 (2-3) | 0 | 75 (60-90) | 1 |\n"+
		"| the holder cannot reach its router (check `gateway`) | 1 | 1700 | 0 | - | 1 |\n", table)
}

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases() {
		if c.mode == "" {
			continue
		}
		assert.False(t, seen[c.key()], c.key())
		seen[c.key()] = true
	}
}
