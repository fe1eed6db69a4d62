package instance

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
)

const (
	// lastPlace is more than any priority: an unhealthy node comes after every fit one.
	lastPlace = 255
	// leastPriority and mostPriority bound what weights make of a priority: 0 resigns, 255 is the address owner's.
	leastPriority, mostPriority = 1, 254
)

// combine turns what an operator wants, the newest verdicts by the checks' names, and what blocks the service into the fitness that
// the elector is told. It is pure, and nothing else makes that fitness.
//
// A service that cannot serve counts more than the operator, and the operator more than the checks. Every check without a weight is
// a condition: one that is unhealthy, or has no result yet, puts the node last. The others move the priority: above 0 a check adds
// its weight while it is good, below 0 it takes it off while it is bad; one that is numbered says how much, and is a condition, too. The elector's priority is that with all weights added (see
// [TopPriority]), so that fitness only ever takes off.
func (in *Config) combine(d desiredState, verdicts map[string]health.Verdict, b election.Fitness) election.Fitness {
	f := d.fitness(in.judge(verdicts))
	switch {
	case b.Out:
		return election.Fitness{Out: true, Less: lastPlace, Reason: b.Reason, Code: b.Code}
	case b.Wait && !f.Out:
		f.Wait, f.Reason, f.Code = true, b.Reason, b.Code
	}
	return f
}

// judge is the fitness by the checks alone.
func (in *Config) judge(verdicts map[string]health.Verdict) election.Fitness {
	for _, c := range in.Checks {
		if v := verdicts[c.Name]; c.decides() && v.State == health.Unhealthy {
			return in.last(c.fails(v), cmp.Or(v.Code, code.CheckFailed))
		}
	}
	for _, c := range in.Checks {
		if c.Weight == 0 && verdicts[c.Name].State == health.Unknown {
			return in.last("no result of "+c.called()+" yet", code.CheckUnknown)
		}
	}
	return in.weighed(verdicts)
}

func (in *Config) last(reason string, why code.Code) election.Fitness {
	return election.Fitness{Out: in.releases(), Less: lastPlace, Reason: reason, Code: why}
}

// weighed is the fitness of a node that meets all conditions.
func (in *Config) weighed(verdicts map[string]health.Verdict) election.Fitness {
	priority, reasons := in.weigh(verdicts)
	var weights []int
	for _, c := range in.Checks {
		weights = append(weights, MostOf(c.Weight, c.Numbered))
	}
	less := int(TopPriority(in.VIP.Priority, weights...)) - clampPriority(priority)
	f := election.Fitness{Less: less, Reason: strings.Join(reasons, "; ")}
	if f.Reason != "" {
		f.Code = code.CheckWeight
	}
	return f
}

// weigh is the priority with all weights, and why it is less than it could be.
func (in *Config) weigh(verdicts map[string]health.Verdict) (priority int, reasons []string) {
	priority = int(in.VIP.Priority)
	for _, c := range in.Checks {
		v := verdicts[c.Name]
		switch {
		case c.Numbered:
			priority += v.Points
			if v.Points < 0 {
				reasons = append(reasons, c.called()+": "+v.Reason)
			}
		case c.Weight > 0 && v.State == health.Healthy:
			priority += c.Weight
		case c.Weight < 0 && v.State == health.Unhealthy:
			priority += c.Weight
			reasons = append(reasons, c.fails(v))
		case c.Weight > 0 && v.State == health.Unhealthy:
			reasons = append(reasons, c.fails(v))
		case c.Weight > 0:
			reasons = append(reasons, "no result of "+c.called()+" yet")
		}
	}
	return priority, reasons
}

// decides tells whether the node is not fit while the check is unhealthy.
func (c Check) decides() bool { return c.Weight == 0 || c.Numbered }

// MostOf is the weight of a check for [TopPriority]: its own, or the most that the points of a numbered check come to.
func MostOf(weight int, numbered bool) int {
	if numbered && weight != 0 {
		return mostPriority - leastPriority
	}
	return weight
}

// TopPriority is the priority of a node whose checks are all good: base with the weights above 0 added, within 1 to 254.
func TopPriority(base uint8, weights ...int) uint8 {
	top := int(base)
	for _, w := range weights {
		top += max(w, 0)
	}
	return uint8(clampPriority(top))
}

func clampPriority(p int) int { return min(max(p, leastPriority), mostPriority) }

// called is what reasons call the check.
func (c Check) called() string {
	if c.Name == "" {
		return "the health check"
	}
	return "the check " + c.Name
}

// fails is why a check keeps the node from being fit.
func (c Check) fails(v health.Verdict) string {
	if v.Code == code.CheckFlaps {
		return c.called() + " passes again; " + v.Hint
	}
	return c.called() + " fails: " + v.Reason
}

// fresh is the fitness after every check has taken one more look, all at once, that begins now. It returns at the latest when
// ctx ends: a check without a result by then is taken for unhealthy. The instance runs the checks meanwhile.
func (in *Config) fresh(ctx context.Context) election.Fitness {
	found := make([]health.Verdict, len(in.Checks))
	var wg sync.WaitGroup
	for i, c := range in.Checks {
		wg.Go(func() { found[i] = c.Fresh(ctx) })
	}
	wg.Wait()
	verdicts := map[string]health.Verdict{}
	for i, c := range in.Checks {
		verdicts[c.Name] = found[i]
	}
	return in.Leaving.fitness(in.judge(verdicts))
}
