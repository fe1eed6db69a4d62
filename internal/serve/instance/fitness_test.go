package instance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

var (
	good    = health.Verdict{State: health.Healthy, Reason: "200"}
	bad     = health.Verdict{State: health.Unhealthy, Reason: "500"}
	unknown = health.Verdict{Reason: "timeout"}
)

func TestVerdictsBecomeFitness(t *testing.T) {
	type verdicts = map[string]health.Verdict
	condition := func(name string) Check { return Check{Name: name} }
	weight := func(name string, w int) Check { return Check{Name: name, Weight: w} }
	numbered := func(name string, w int) Check { return Check{Name: name, Weight: w, Numbered: true} }
	says := func(points int) health.Verdict {
		return health.Verdict{State: health.Healthy, Reason: fmt.Sprintf("says %d", points), Points: points}
	}
	last := func(reason string) election.Fitness {
		c := code.CheckFailed
		if strings.HasPrefix(reason, "no result") {
			c = code.CheckUnknown
		}
		return election.Fitness{Less: lastPlace, Reason: reason, Code: c}
	}
	tests := []struct {
		name    string
		release config.WhenAllUnhealthy
		checks  []Check
		give    verdicts
		want    election.Fitness
	}{
		{name: "nothing is checked"},
		{name: "no result yet comes last", checks: []Check{condition("")}, want: last("no result of the health check yet")},
		{name: "nothing but unknown results comes last", checks: []Check{condition("")}, give: verdicts{"": unknown}, want: last("no result of the health check yet")},
		{name: "healthy", checks: []Check{condition("")}, give: verdicts{"": good}},
		{name: "unhealthy comes last", checks: []Check{condition("")}, give: verdicts{"": bad}, want: last("the health check fails: 500")},
		{
			name: "unhealthy is out when asked for", release: config.Release, checks: []Check{condition("")}, give: verdicts{"": bad},
			want: election.Fitness{Out: true, Less: lastPlace, Reason: "the health check fails: 500", Code: code.CheckFailed},
		},
		{name: "every condition counts", checks: []Check{condition("a"), condition("b")}, give: verdicts{"a": good, "b": bad}, want: last("the check b fails: 500")},
		{name: "an unhealthy one before an unknown one", checks: []Check{condition("a"), condition("b")}, give: verdicts{"b": bad}, want: last("the check b fails: 500")},
		{name: "one is unknown", checks: []Check{condition("a"), condition("b")}, give: verdicts{"a": good}, want: last("no result of the check b yet")},
		{name: "all are met", checks: []Check{condition("a"), condition("b")}, give: verdicts{"a": good, "b": good}},
		{name: "below 0 and good", checks: []Check{weight("a", -20)}, give: verdicts{"a": good}},
		{name: "below 0 and bad", checks: []Check{weight("a", -20)}, give: verdicts{"a": bad}, want: election.Fitness{Less: 20, Reason: "the check a fails: 500", Code: code.CheckWeight}},
		{name: "below 0 and unknown takes nothing off", checks: []Check{weight("a", -20)}, give: verdicts{"a": unknown}},
		{name: "above 0 and good", checks: []Check{weight("a", 20)}, give: verdicts{"a": good}},
		{name: "above 0 and bad", checks: []Check{weight("a", 20)}, give: verdicts{"a": bad}, want: election.Fitness{Less: 20, Reason: "the check a fails: 500", Code: code.CheckWeight}},
		{name: "above 0 and unknown is not added yet", checks: []Check{weight("a", 20)}, want: election.Fitness{Less: 20, Reason: "no result of the check a yet", Code: code.CheckWeight}},
		{
			name: "weights add up", checks: []Check{weight("a", 20), weight("b", -30), weight("c", 5)}, give: verdicts{"a": bad, "b": bad, "c": good},
			want: election.Fitness{Less: 50, Reason: "the check a fails: 500; the check b fails: 500", Code: code.CheckWeight},
		},
		{name: "not below 1", checks: []Check{weight("a", -253)}, give: verdicts{"a": bad}, want: election.Fitness{Less: 99, Reason: "the check a fails: 500", Code: code.CheckWeight}},
		{name: "not above 254", checks: []Check{weight("a", 253), weight("b", -50)}, give: verdicts{"a": good, "b": bad}, want: election.Fitness{Reason: "the check b fails: 500", Code: code.CheckWeight}},
		{name: "a number is added", checks: []Check{numbered("a", 2)}, give: verdicts{"a": says(54)}, want: election.Fitness{Less: 100}},
		{name: "a number is taken off", checks: []Check{numbered("a", 2)}, give: verdicts{"a": says(-54)}, want: election.Fitness{Less: 208, Reason: "the check a: says -54", Code: code.CheckWeight}},
		{name: "a number that is not known is 0", checks: []Check{numbered("a", 2)}, want: election.Fitness{Less: 154}},
		{name: "a number that is a condition", checks: []Check{numbered("a", 0)}, give: verdicts{"a": good}},
		{name: "a number that is a condition, and no result yet", checks: []Check{numbered("a", 0)}, want: last("no result of the check a yet")},
		{name: "a number that is unhealthy comes last", checks: []Check{numbered("a", 2)}, give: verdicts{"a": bad}, want: last("the check a fails: 500")},
		{
			name: "a number and weights add up", checks: []Check{numbered("a", 1), weight("b", -30), weight("c", 5)}, give: verdicts{"a": says(20), "b": bad, "c": good},
			want: election.Fitness{Less: 159, Reason: "the check b fails: 500", Code: code.CheckWeight},
		},
		{name: "a condition outweighs every weight", checks: []Check{weight("a", 253), condition("b")}, give: verdicts{"a": good, "b": bad}, want: last("the check b fails: 500")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Config{Checks: tt.checks, VIP: config.VIP{Priority: 100, Check: config.Check{WhenAllUnhealthy: tt.release}}}
			assert.Equal(t, tt.want, in.judge(tt.give))
		})
	}
}

// What the elector makes of TopPriority and Less is what keepalived's trackers make of the weights.
func TestWeightsAreThoseOfKeepalived(t *testing.T) {
	for _, base := range []uint8{1, 50, 100, 254} {
		for _, weights := range [][]int{{0}, {20}, {-20}, {253, -253}, {200, 100}, {-100, -100}, {5, 5, -5}} {
			for mask := range 1 << len(weights) {
				in := Config{VIP: config.VIP{Priority: base}}
				verdicts, want := map[string]health.Verdict{}, int(base)
				for i, w := range weights {
					if w == 0 {
						continue
					}
					name := string(rune('a' + i))
					in.Checks = append(in.Checks, Check{Name: name, Weight: w})
					if verdicts[name] = good; mask&(1<<i) != 0 {
						verdicts[name] = bad
					}
					if (w > 0) == (verdicts[name].State == health.Healthy) {
						want += w
					}
				}
				got := int(TopPriority(base, weights...)) - in.judge(verdicts).Less
				assert.Equal(t, min(max(want, 1), 254), got, "%d with %v, bad %b", base, weights, mask)
			}
		}
	}
}

// Each number comes to the priority that keepalived's track_file comes to.
func TestNumbersAreThoseOfKeepalived(t *testing.T) {
	for _, base := range []uint8{1, 100, 254} {
		for points := -253; points <= 253; points++ {
			in := Config{VIP: config.VIP{Priority: base}, Checks: []Check{{Name: "a", Weight: -5, Numbered: true}, {Name: "b", Weight: 10}}}
			verdicts := map[string]health.Verdict{"a": {State: health.Healthy, Points: points}, "b": good}
			got := int(TopPriority(base, MostOf(-5, true), 10)) - in.judge(verdicts).Less
			assert.Equal(t, min(max(int(base)+points+10, 1), 254), got)
		}
	}
}

func TestFreshAsksEveryCheckAtOnce(t *testing.T) {
	meet := make(chan struct{})
	check := func(name string, v health.Verdict) Check {
		return Check{Name: name, Fresh: func(ctx context.Context) health.Verdict {
			select {
			case meet <- struct{}{}:
			case <-meet:
			case <-ctx.Done():
			}
			return v
		}}
	}
	in := Config{VIP: config.VIP{Priority: 100}, Checks: []Check{check("a", good), check("b", bad)}}
	assert.Equal(t, "the check b fails: 500", in.fresh(t.Context()).Reason)
	in.Checks = []Check{check("a", good), check("b", good)}
	assert.Equal(t, election.Fitness{}, in.fresh(t.Context()))
}

func TestDecisiveCheck(t *testing.T) {
	tests := []struct {
		name string
		give []CheckStatus
		want string
	}{
		{"the unhealthy condition", []CheckStatus{{Name: "a", Verdict: health.Verdict{State: health.Healthy}}, {Name: "b", Verdict: health.Verdict{State: health.Unhealthy}, Weight: 5}, {Name: "c", Verdict: health.Verdict{State: health.Unhealthy}}}, "c"},
		{"the unknown one", []CheckStatus{{Name: "a", Verdict: health.Verdict{State: health.Healthy}}, {Name: "b", Verdict: health.Verdict{}}}, "b"},
		{"the first condition", []CheckStatus{{Name: "a", Verdict: health.Verdict{State: health.Healthy}, Weight: 1}, {Name: "b", Verdict: health.Verdict{State: health.Healthy}}}, "b"},
		{"only weights", []CheckStatus{{Name: "a", Verdict: health.Verdict{State: health.Unhealthy}, Weight: 1}, {Name: "b", Verdict: health.Verdict{State: health.Healthy}, Weight: 1}}, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, decisive(tt.give).Name) })
	}
	assert.Nil(t, decisive(nil))
}

// The members are told the newest reason, and the log has a line for a change of the state alone.
func TestNewestReasonIsToldWithoutALine(t *testing.T) {
	run(t, nil, func(in *Config) { in.Checks = []Check{{}} }, func(t *testing.T, b *bench) {
		e := <-b.electors
		say := func(v health.Verdict) {
			b.verdicts <- v
			synctest.Wait()
		}
		say(health.Verdict{State: health.Unhealthy, Outcome: health.Down, Reason: "connection refused", Code: code.CheckRefused})
		lines := strings.Count(b.log.String(), "\n")
		say(health.Verdict{State: health.Unhealthy, Outcome: health.Fail, Reason: "500", Code: code.CheckStatus})
		assert.Equal(t, election.Fitness{Less: lastPlace, Reason: "the health check fails: 500", Code: code.CheckStatus}, e.fitness())
		hint := "flapping, unhealthy 2 times lately: 32 good probes make it healthy"
		say(health.Verdict{State: health.Unhealthy, Reason: "200", Hint: hint, Code: code.CheckFlaps})
		assert.Equal(t, election.Fitness{Less: lastPlace, Reason: "the health check passes again; " + hint, Code: code.CheckFlaps}, e.fitness())
		assert.Equal(t, lines, strings.Count(b.log.String(), "\n"))
	})
}
