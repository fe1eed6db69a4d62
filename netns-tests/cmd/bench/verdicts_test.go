package main

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

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
