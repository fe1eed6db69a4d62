package main

import (
	"encoding/json"
	"fmt"
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
		row := rows["keepvip: node death"]
		row.Results = append(row.Results, &trial.Result{Outage: took * time.Millisecond, Two: time.Duration(i) * time.Millisecond, CPU: 0.5, RSS: 16 << 20})
		rows["keepvip: node death"], rows["keepvip: idle"] = row, row
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

// A run in which the machine stood still has no figures, and what must never be is never left out.
func TestRunsInWhichTheMachineStoodStill(t *testing.T) {
	const stall = 40 * ms
	fine := trial.Result{Outage: 300 * ms}
	for _, tt := range []struct {
		name   string
		limits limits
		runs   []trial.Result
		want   string
	}{
		{"all was calm", limits{outageWorst: 450 * ms}, []trial.Result{fine, fine}, "ok"},
		{"a figure is left out", limits{outageWorst: 450 * ms}, []trial.Result{fine, {Outage: time.Second, Stall: stall}}, "ok"},
		{"on a calm machine it is none", limits{outageWorst: 450 * ms}, []trial.Result{fine, {Outage: time.Second}}, "OVER: worst outage 1000 ms, limit 450"},
		{"every run is left out", limits{outageWorst: 450 * ms}, []trial.Result{{Outage: 300 * ms, Stall: stall}}, "LEFT OUT: the machine stood still in each run"},
		{"without limits there is no verdict", limits{}, []trial.Result{{Outage: time.Second, Stall: stall}}, ""},
		{"two answered for a while", limits{two: 20 * ms}, []trial.Result{fine, {Two: 60 * ms, Stall: stall}}, "ok"},
		{"two answered where none may", limits{two: noTwo}, []trial.Result{fine, {Two: 1, Stall: stall}}, "OVER: two answering 0.0 ms in a run that was left out"},
		{
			"two answered ARP",
			limits{passLimits: passLimits{lossless: 96}},
			[]trial.Result{fine, {Finders: 50 * ms, Stall: stall}},
			"OVER: two answering ARP or ND 50.0 ms in a run that was left out",
		},
		{
			"a holder without a daemon spoke",
			limits{silence: silence{wanted: true}},
			[]trial.Result{{Silence: &trial.Silence{}}, {Stall: stall, Silence: &trial.Silence{Late: 1}}},
			"OVER: 1 frames after the lease ()",
		},
		{"it was gone too late", limits{silence: silence{wanted: true, gone: time.Second}}, []trial.Result{{Silence: &trial.Silence{}}, {Stall: stall, Silence: &trial.Silence{Gone: time.Minute}}}, "ok"},
		{
			"another one announced last",
			limits{vrrpLimits: vrrpLimits{lastIsTaker: true}},
			[]trial.Result{fine, {Announcer: 1, Taker: 2, Stall: stall}},
			"OVER: n1 announced last, n2 holds",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var row trial.Row
			for _, r := range tt.runs {
				row.Add(&r)
			}
			assert.Equal(t, tt.want, benchCase{limits: tt.limits}.judged(row).Verdict)
		})
	}
}

func TestWhatIsLeftOutIsTold(t *testing.T) {
	var row trial.Row
	row.Add(&trial.Result{Outage: 300 * ms, Note: "5 packets"})
	row.Add(&trial.Result{Outage: time.Second, Takeovers: 2, Stall: 40 * ms})
	row = benchCase{}.judged(row)
	assert.Len(t, row.Results, 1)
	assert.Equal(t, "5 packets; 1 runs left out, because the machine stood still for more than 20.0 ms: outage 1000 ms, two answering 0.0 ms, takeovers 2 (40.0 ms)", row.Note)
}

func TestCasesWithoutAVerdictAreCounted(t *testing.T) {
	var n count
	for _, verdict := range []string{"ok", "", "OVER: much", "FAILED", "LEFT OUT: the machine stood still in each run"} {
		n.add(verdict)
	}
	assert.Equal(t, "5 cases, 2 over their limits or failed, 1 left out because the machine stood still", n.String())
	assert.EqualError(t, n.err(), "bench: 2 of 5 cases over their limits or failed")
	assert.NoError(t, count{cases: 2, leftOut: 1}.err())
	assert.Error(t, count{cases: 2, leftOut: 2}.err())
	assert.NoError(t, count{}.err())
}

// How long something took says nothing where the machine stood still; a count says so on any machine.
func TestFiguresOfShowsBesideAMachineThatStoodStill(t *testing.T) {
	slow := trial.Measured{What: "away", Got: 70, Limit: 50, Unit: "ms"}
	lost := trial.Measured{What: "lost", Got: 1, Unit: "times"}
	assert.Equal(t, "ok", verdictOf(trial.Findings{{What: "away", Got: 50, Limit: 50, Unit: "ms"}}, time.Second, nil))
	assert.Equal(t, "OVER: away 70 ms, limit 50 ms", verdictOf(trial.Findings{slow}, stillInASecond, nil))
	assert.Equal(t, "LEFT OUT: the machine stood still for 101 ms within a second: away 70 ms, limit 50 ms", verdictOf(trial.Findings{slow}, stillInASecond+ms, nil))
	assert.Equal(t, "OVER: away 70 ms, limit 50 ms; lost 1 times, limit 0 times", verdictOf(trial.Findings{slow, lost}, time.Second, nil))
	assert.Equal(t, "FAILED: EOF", verdictOf(nil, 0, io.EOF))
}

func TestTwoThatAdvertiseInTurnForLongAreOver(t *testing.T) {
	turns := func(n int) []*trial.Result {
		report := &lab.Report{Ended: time.Second}
		for i := range n + 1 {
			report.Adverts = append(report.Adverts, lab.Advert{At: time.Duration(i) * ms, Node: 1 + i%2, Source: lab.VIP4, VRID: 51, Priority: 100})
		}
		return []*trial.Result{{Report: report}}
	}
	l := limits{vrrpLimits: vrrpLimits{turns: mostTurns}}
	assert.Equal(t, "ok", l.judge(turns(mostTurns)))
	assert.Equal(t, "OVER: two advertise in turn, 9 times, limit 8", l.judge(turns(mostTurns+1)))
}
