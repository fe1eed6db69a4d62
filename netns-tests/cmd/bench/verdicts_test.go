package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
		{
			"no standstill explains an outage that is much longer",
			limits{outageWorst: 450 * ms},
			[]trial.Result{fine, {Outage: 30 * time.Second, OutageRoom: 21 * ms, Stall: 21 * ms}},
			"OVER: worst outage 30000 ms in a run that was left out, limit 450 and 1104 of the machine's",
		},
		{
			"nor does one at another time, beyond what one costs",
			limits{outageWorst: 450 * ms},
			[]trial.Result{fine, {Outage: 1560 * ms, Stall: stall, Standstill: stall}},
			"OVER: worst outage 1560 ms in a run that was left out, limit 450 and 1083 of the machine's",
		},
		{"on a calm machine it is none", limits{outageWorst: 450 * ms}, []trial.Result{fine, {Outage: time.Second}}, "OVER: worst outage 1000 ms, limit 450"},
		{"every run is left out", limits{outageWorst: 450 * ms}, []trial.Result{{Outage: 300 * ms, Stall: stall}}, "NOT JUDGED: the machine stood still in each run"},
		{"without limits there is no verdict", limits{}, []trial.Result{{Outage: time.Second, Stall: stall}}, ""},
		{
			"two answered for longer than the machine stood still",
			limits{two: 20 * ms},
			[]trial.Result{fine, {Two: 61 * ms, TwoRoom: stall, Stall: stall}},
			"OVER: two answering 61.0 ms in a run that was left out, limit 20.0 and 40.0 of the machine's",
		},
		{"for no longer", limits{two: 20 * ms}, []trial.Result{fine, {Two: 60 * ms, TwoRoom: stall, Stall: stall}}, "ok"},
		{
			"two answered at another time than the machine stood still",
			limits{two: 20 * ms},
			[]trial.Result{fine, {Two: 21 * ms, Stall: stall}},
			"OVER: two answering 21.0 ms in a run that was left out, limit 20.0 and 0.0 of the machine's",
		},
		{
			"two answered where none may",
			limits{two: noTwo},
			[]trial.Result{fine, {Two: 50 * ms, TwoRoom: stall, Stall: stall}},
			"OVER: two answering 50.0 ms in a run that was left out, limit 1.0 and 40.0 of the machine's",
		},
		{
			"two answered ARP",
			limits{passLimits: passLimits{lossless: 96}},
			[]trial.Result{fine, {Finders: 50 * ms, FindersRoom: stall, Stall: stall}},
			"OVER: two answering ARP or ND 50.0 ms in a run that was left out, limit 0.0 and 40.0 of the machine's",
		},
		{
			"two answered after the heal",
			limits{passLimits: passLimits{recovered: time.Second, healing: 120 * ms}},
			[]trial.Result{fine, {Healing: 200 * ms, HealingRoom: stall, Stall: stall}},
			"OVER: the same after the network is whole again 200 ms in a run that was left out, limit 120 and 40.0 of the machine's",
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
		{"the address had moved before", limits{two: noTwo}, []trial.Result{fine, {NotJudged: "it had moved"}}, "ok"},
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
	row.Add(&trial.Result{NotJudged: "the address had moved"})
	row = benchCase{}.judged(row)
	assert.Len(t, row.Results, 1)
	assert.Equal(t, "5 packets; 2 runs left out: outage 1000 ms, two answering 0.0 ms, takeovers 2 (the machine stood still for 40.0 ms), "+
		"outage 0.0 ms, two answering 0.0 ms, takeovers 0 (the address had moved)", row.Note)
}

func TestCasesWithoutAVerdictAreCounted(t *testing.T) {
	var n count
	for _, verdict := range []string{"ok", "", "OVER: much", "FAILED", "NOT JUDGED: the machine stood still in each run"} {
		n.add(verdict)
	}
	assert.Equal(t, "5 cases, 2 over their limits or failed, 1 not judged because the machine stood still", n.String())
	assert.EqualError(t, n.err(), "bench: 2 of 5 cases over their limits or failed")
	assert.NoError(t, count{cases: 2, notJudged: 1}.err())
	assert.Error(t, count{cases: 2, notJudged: 2}.err())
	assert.NoError(t, count{}.err())
}
