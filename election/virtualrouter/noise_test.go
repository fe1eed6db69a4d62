package virtualrouter

import (
	"context"
	"flag"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/check/health"
)

var simulations = flag.Int("simulations", 8, "how many runs each simulation of noise, of deaf nodes and of starts has; 1000 show what is promised")

// The defaults of a check.
const (
	checkInterval        = 300 * time.Millisecond
	checkTimeout         = 600 * time.Millisecond
	checkRise, checkFall = 2, 3
)

// weather is what a probe finds on a node, the holder being number 0, at a time since the start.
type weather func(rng *rand.Rand, node int, at time.Duration) (found health.Outcome, takes time.Duration)

// checked is a member with its check: the real gate, on a probe that is made up.
type checked struct {
	*member
	number  int
	started time.Time
	sky     weather

	mu   sync.Mutex // guards what follows
	rng  *rand.Rand
	gate *health.Gate
}

// probe takes one look, and returns the node's fitness after it.
func (c *checked) probe(ctx context.Context) election.Fitness {
	c.mu.Lock()
	found, takes := c.sky(c.rng, c.number, time.Since(c.started))
	c.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate.Step(time.Now(), health.Result{Outcome: found})
	if state, _ := c.gate.State(); state != health.Healthy {
		return election.Fitness{Less: 255, Reason: "unhealthy"}
	}
	return election.Fitness{}
}

// run probes as a Checker does.
func (c *checked) run(ctx context.Context) {
	pause := func() time.Duration {
		c.mu.Lock()
		defer c.mu.Unlock()
		return checkInterval + time.Duration((c.rng.Float64()-0.5)/5*float64(checkInterval))
	}
	for ctx.Err() == nil {
		began := time.Now()
		c.SetFitness(c.probe(ctx))
		select {
		case <-time.After(pause() - time.Since(began)):
		case <-ctx.Done():
		}
	}
}

// fresh is a probe beside the others, for an elector that wants one before it moves an address. It is good only when both
// are: the look, and what the looks before it have added up to.
func (c *checked) fresh(ctx context.Context) election.Fitness {
	before := c.failures()
	f := c.probe(ctx)
	if c.failures() > before {
		return election.Fitness{Less: 255, Reason: "unhealthy"}
	}
	return f
}

func (c *checked) failures() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gate.Streak()
}

// movesIn lets three equal nodes live through the weather for a while, and counts how often the address moves.
func movesIn(t *testing.T, seed uint64, sky weather, length time.Duration) (moves int) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk = true
		all := []*member{l.start(t, nodeA, nil), l.start(t, nodeB, nil), l.start(t, nodeC, nil)}
		at := slices.Index(all, holder(t, time.Second, all...))
		all[0], all[at] = all[at], all[0]
		begun := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i, m := range all {
			c := &checked{
				member: m, number: i, started: begun, sky: sky,
				rng: rand.New(rand.NewPCG(seed, uint64(i))), gate: health.NewGate(checkRise, checkFall),
			}
			c.gate.Step(begun, health.Result{})
			m.SetProbe(c.fresh)
			wg.Go(func() {
				time.Sleep(time.Duration(seed*uint64(i)*37%300) * time.Millisecond)
				c.run(ctx)
			})
		}
		time.Sleep(length)
		cancel()
		wg.Wait()
		moves = l.moves(begun)
		stopAll(t, all...)
	})
	return moves
}

// moves counts how often the address has come to be with another node alone than before, from the moment on. Where two bind it
// at the same moment, and one lets go at once, only the one that keeps it counts.
func (l *lan) moves(since time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bound, alone := map[netip.Addr]bool{}, netip.Addr{}
	for _, e := range l.log {
		switch e.what {
		case "bind":
			bound[e.node] = true
		case "release", "quiet":
			delete(bound, e.node)
		default:
			continue
		}
		for node := range bound {
			if len(bound) == 1 && node != alone {
				alone = node
				if e.at.After(since) {
					n++
				}
			}
		}
	}
	return n
}

// movesOf is the moves of all runs, the fewest first.
func movesOf(t *testing.T, sky weather, length time.Duration) []int {
	t.Helper()
	all := make([]int, *simulations)
	for i := range all {
		all[i] = movesIn(t, uint64(i), sky, length)
	}
	slices.Sort(all)
	t.Logf("%d runs: moves: median %d, worst %d", len(all), all[len(all)/2], all[len(all)-1])
	return all
}

// noisy is a probe of which that share fails at random, quickly or by its timeout.
func noisy(share float64, nodes int) weather {
	return func(rng *rand.Rand, node int, _ time.Duration) (health.Outcome, time.Duration) {
		if node >= nodes || rng.Float64() >= share {
			return health.Pass, 5 * time.Millisecond
		}
		if rng.Float64() < 0.2 {
			return health.Fail, checkTimeout
		}
		return health.Fail, 5 * time.Millisecond
	}
}

func TestNoiseAtTheHolderMovesTheAddressOnceAtMost(t *testing.T) {
	all := movesOf(t, noisy(0.3, 1), 5*time.Minute)
	assert.LessOrEqual(t, all[len(all)-1], 1)
}

func TestNoiseOnAllNodesMovesTheAddressSeldom(t *testing.T) {
	all := movesOf(t, noisy(0.3, 3), 5*time.Minute)
	assert.LessOrEqual(t, all[len(all)/2], 3)
	assert.LessOrEqual(t, all[len(all)-1], 6)
}

// outage is as when etcd has lost its quorum: all nodes fail for 14 s, each beginning up to late after the first, quickly or by
// their timeout. With the good probes that it takes to rise, their checks recover within five seconds of each other. turn is who
// begins and recovers first.
func outage(late time.Duration, turn int) weather {
	return func(rng *rand.Rand, node int, at time.Duration) (health.Outcome, time.Duration) {
		node = (node + turn) % 3
		begin := 5*time.Second + late*time.Duration(node)/2
		end := 19*time.Second + []time.Duration{0, 2500, 4300}[node]*time.Millisecond
		switch {
		case at < begin, at > end:
			return health.Pass, 5 * time.Millisecond
		case rng.Float64() < 0.5:
			return health.Fail, checkTimeout
		}
		return health.Fail, 5 * time.Millisecond
	}
}

func TestBadHealthOfAllNodesKeepsTheAddress(t *testing.T) {
	for turn := range 3 {
		all := movesOf(t, outage(0, turn), time.Minute)
		assert.Zero(t, all[len(all)-1], "turn %d", turn)
	}
}

// The holder may have counted to its fall before another node's first probe fails, and then has to believe that it is better.
func TestBadHealthOfAllNodesWithinASecondMovesTheAddressSeldom(t *testing.T) {
	for turn := range 3 {
		all := movesOf(t, outage(time.Second, turn), time.Minute)
		assert.LessOrEqual(t, all[len(all)-1], 2, "turn %d", turn)
	}
}

func TestSlowProbesMoveNothing(t *testing.T) {
	all := movesOf(t, func(*rand.Rand, int, time.Duration) (health.Outcome, time.Duration) {
		return health.Pass, 205 * time.Millisecond
	}, 5*time.Minute)
	assert.Zero(t, all[len(all)-1])
}
