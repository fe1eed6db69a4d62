package main

import (
	"encoding/json"
	"io"
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

// written is a file as -json writes it.
func written(t *testing.T, all ...trial.Result) (path string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "results"))
	require.NoError(t, err)
	defer f.Close()
	for _, r := range all {
		require.NoError(t, json.NewEncoder(f).Encode(r))
	}
	return f.Name()
}

// pageRows runs the command, and returns the rows of the page that it writes.
func pageRows(t *testing.T, results string) string {
	t.Helper()
	page := filepath.Join(t.TempDir(), "failure-modes.md")
	require.NoError(t, os.WriteFile(page, []byte("by hand\n<!-- measured: make failure-modes writes up to the next such line -->\n"+measuredEnd+"also by hand\n"), 0o600))
	require.NoError(t, run(nil, []string{"-failure-modes", page, "-from", results}, io.Discard))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "|---|---|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n"+measuredEnd+"also by hand\n")
	return table
}

func TestFailureModesFromResults(t *testing.T) {
	report := &lab.Report{HTTPS: []lab.StreamReport{{}}}
	results := written(
		t,
		trial.Result{Case: "apiserver killed", Product: "keepvip", Seen: 1600 * time.Microsecond, Outage: 0, HTTPS: 60 * ms, Takeovers: 1, Report: report},
		trial.Result{Case: "apiserver killed", Product: "keepvip", Seen: 3 * ms, Outage: 0, HTTPS: 90 * ms, Takeovers: 1, Report: report},
		trial.Result{Case: "apiserver killed", Product: "keepvip", Seen: time.Second, Stall: time.Second, Report: report},
		trial.Result{Case: "router lost", Product: "keepvip", Seen: 1700 * ms, Takeovers: 1},
		trial.Result{Case: "apiserver killed", Product: "keepalived", Seen: time.Hour},
	)
	table := pageRows(t, results)
	assert.Equal(t, "| the apiserver is killed (SIGKILL) | 2 (1 more left out) | 2 (2-3) | 0 | 75 (60-90) | 1 |\n"+
		"| the holder cannot reach its router (check `gateway`) | 1 | 1700 | 0 | - | 1 |\n", table)
}

func TestEveryFailureModeCanComeFromResults(t *testing.T) {
	var all []trial.Result
	for _, c := range cases() {
		if c.mode != "" {
			assert.Nil(t, c.open, "%s: results have the name of the group's product", c.name)
			all = append(all, trial.Result{Case: c.name, Product: c.product().Name()})
		}
	}
	assert.Equal(t, len(all), strings.Count(pageRows(t, written(t, all...)), "\n"))
}

func TestTableFromResults(t *testing.T) {
	var out strings.Builder
	results := written(t, trial.Result{Case: "apiserver 500", Product: "keepvip", Answered: 2 * time.Second, Takeovers: 1, Report: &lab.Report{}})
	require.NoError(t, run(nil, []string{"-from", results, "-only", "apiserver"}, &out))
	assert.Contains(t, out.String(), "apiserver 500")
	assert.Contains(t, out.String(), "OVER: answered after 2000 ms, limit 1100")
	assert.NotContains(t, out.String(), "node death")
}

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases() {
		assert.False(t, seen[c.key()], c.key())
		seen[c.key()] = true
	}
}
