package health

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
)

// noisyGroup is a group of equal nodes in virtual time: the address moves, at once, when its holder is unhealthy and another node is
// fit. That is the worst that an election can make of it.
type noisyGroup struct {
	gates  []*Gate
	next   []time.Time // probe
	noise  []float64   // share of a node's probes that fails
	rng    *rand.Rand
	holder int
	moves  int
}

func newNoisyGroup(seed uint64, noise ...float64) *noisyGroup {
	g := &noisyGroup{noise: noise, rng: rand.New(rand.NewPCG(seed, 1))}
	cfg := given(config.ListedCheck{})
	for _, share := range noise {
		gate := NewGate(cfg.Rise, cfg.Fall)
		gate.Step(time.Unix(0, 0), Result{Outcome: Pass})
		g.gates = append(g.gates, gate)
		first := time.Unix(0, 0).Add(time.Duration(g.rng.Int64N(int64(cfg.Interval))))
		if share == 0 {
			first = first.Add(time.Hour) // what never fails need not be looked at
		}
		g.next = append(g.next, first)
	}
	return g
}

// run lets five minutes pass.
func (g *noisyGroup) run() {
	cfg, end := given(config.ListedCheck{}), time.Unix(0, 0).Add(5*time.Minute)
	for {
		i := 0
		for j, at := range g.next {
			if at.Before(g.next[i]) {
				i = j
			}
		}
		now := g.next[i]
		if now.After(end) {
			return
		}
		r := Result{Outcome: Pass}
		if g.rng.Float64() < g.noise[i] {
			r.Outcome = Fail
		}
		g.gates[i].Step(now, r)
		g.next[i] = now.Add(pause(cfg.Interval, 0, g.rng.Float64()))
		g.elect()
	}
}

func (g *noisyGroup) elect() {
	fit := func(i int) bool { s, _ := g.gates[i].State(); return s == Healthy }
	if fit(g.holder) {
		return
	}
	for i := range g.gates {
		if fit(i) {
			g.holder = i
			g.moves++
			return
		}
	}
}

// movesOver is the number of moves in each of n runs, the fewest first.
func movesOver(n uint64, noise ...float64) []int {
	var all []int
	for seed := range n {
		g := newNoisyGroup(seed, noise...)
		g.run()
		all = append(all, g.moves)
	}
	slices.Sort(all)
	return all
}

func TestNoiseAtTheHolderMovesTheAddressOnceAtMost(t *testing.T) {
	all := movesOver(1000, 0.3, 0, 0)
	t.Logf("moves: median %d, worst %d", all[500], all[999])
	assert.LessOrEqual(t, all[999], 1)
}

func TestNoiseOnAllNodesIsDamped(t *testing.T) {
	all := movesOver(1000, 0.3, 0.3, 0.3)
	t.Logf("moves: median %d, worst %d", all[500], all[999])
	assert.LessOrEqual(t, all[500], 3)
	assert.LessOrEqual(t, all[999], 6)
}

func TestRareFailuresMoveNothing(t *testing.T) {
	all := movesOver(100, 0.02, 0.02, 0.02)
	t.Logf("moves: median %d, worst %d", all[50], all[99])
	assert.Zero(t, all[50])
	assert.LessOrEqual(t, all[99], 1)
}

// A service that has recovered for good, but for one probe in twenty, is not kept out for long.
func TestDampingEndsForAServiceThatIsNearlyWell(t *testing.T) {
	cfg := given(config.ListedCheck{})
	var all []time.Duration
	for seed := range uint64(200) {
		rng, now, g := rand.New(rand.NewPCG(seed, 2)), time.Unix(0, 0), NewGate(cfg.Rise, cfg.Fall)
		g.Step(now, Result{})
		g.falls = 2
		g.Step(now, Result{Outcome: Down})
		for s, _ := g.State(); s != Healthy; s, _ = g.State() {
			now = now.Add(cfg.Interval)
			r := Result{}
			if rng.Float64() < 0.05 {
				r.Outcome = Fail
			}
			g.Step(now, r)
		}
		all = append(all, now.Sub(time.Unix(0, 0)))
	}
	slices.Sort(all)
	t.Logf("healthy again after %v (median), %v (worst)", all[100], all[199])
	assert.Less(t, all[100], time.Minute)
	assert.Less(t, all[199], 3*time.Minute)
}
