package virtualrouter

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

func withoutPreemption(c *vrrp.Config) { c.Preempt = false }

// startOthers starts the three nodes but some, at random moments, and waits until one holds the address.
func (l *lan) startOthers(t *testing.T, random *rand.Rand, change func(*vrrp.Config), but ...netip.Addr) (nodes []*member) {
	t.Helper()
	for _, a := range []netip.Addr{nodeA, nodeB, nodeC} {
		if !slices.Contains(but, a) {
			nodes = append(nodes, l.start(t, a, change))
			time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond)
		}
	}
	time.Sleep(time.Second)
	return nodes
}

// Nothing has ever arrived at a node, and so it takes the address from a holder that it does not hear. It comes last all the same.
func TestNodeThatIsDeafFromBeforeItsStartComesLast(t *testing.T) {
	for _, c := range []struct {
		name   string
		deaf   netip.Addr
		plain  bool
		change func(*vrrp.Config)
	}{
		{"with the highest address", nodeC, false, nil},
		{"with the lowest address", nodeA, false, nil},
		{"without preemption", nodeC, false, withoutPreemption},
		{"in plain VRRP", nodeC, true, nil},
		{"in plain VRRP without preemption", nodeC, true, withoutPreemption},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(*simulations) {
				bubble.Test(t, func(t *testing.T) {
					l := newLAN()
					l.ask, l.talk = true, !c.plain
					random := rand.New(rand.NewPCG(seed, 1))
					nodes := l.startOthers(t, random, c.change, c.deaf)
					l.noArrivals(c.deaf, true)
					late := l.start(t, c.deaf, c.change)
					nodes = append(nodes, late)
					w := l.watch(8*time.Second, nodes...)
					assert.Less(t, w.longest, 10*time.Millisecond, "seed %d", seed)
					assert.Zero(t, w.two, "seed %d", seed)
					for _, o := range nodes[:2] {
						i := slices.IndexFunc(o.Status().Members, func(m election.Member) bool { return m.Address == c.deaf })
						if !c.plain {
							require.GreaterOrEqual(t, i, 0)
							assert.Equal(t, code.Deaf, o.Status().Members[i].Code, "named on %s, seed %d", o.self, seed)
						}
					}

					l.noArrivals(c.deaf, false)
					w = l.watch(5*time.Second, nodes...)
					assert.Less(t, w.longest, 100*time.Millisecond, "seed %d", seed)
					assert.NotContains(t, holders(nodes...), c.deaf, "seed %d", seed)
					stopAll(t, nodes...)
				})
			}
		})
	}
}

// The deaf node was there first, so it holds the address. Those that start later hear each other.
func TestNodesThatStartTakeOverFromADeafHolder(t *testing.T) {
	for name, change := range map[string]func(*vrrp.Config){"": nil, "without preemption": withoutPreemption} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(*simulations) {
				bubble.Test(t, func(t *testing.T) {
					l := newLAN()
					l.ask, l.talk = true, true
					random := rand.New(rand.NewPCG(seed, 2))
					l.noArrivals(nodeC, true)
					nodes := []*member{l.start(t, nodeC, change)}
					time.Sleep(2 * time.Second)
					require.True(t, nodes[0].holds())
					for _, a := range []netip.Addr{nodeA, nodeB} {
						time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond)
						nodes = append(nodes, l.start(t, a, change))
					}
					w := l.watch(5*time.Second, nodes...)
					assert.Less(t, w.longest, time.Second, "seed %d", seed)
					assert.Zero(t, w.two, "seed %d", seed)
					stopAll(t, nodes...)
				})
			}
		})
	}
}

// boot starts three nodes at random moments, and says what has happened to the address, in order, and since when it is bound.
func boot(t *testing.T, seed uint64, ears, plain bool, change func(*vrrp.Config)) (moves []string, bound time.Duration) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.ask, l.talk = ears, !plain
		random := rand.New(rand.NewPCG(seed, 3))
		began := time.Now()
		var nodes []*member
		order := []netip.Addr{nodeA, nodeB, nodeC}
		random.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		for _, a := range order {
			nodes = append(nodes, l.start(t, a, change))
			time.Sleep(time.Duration(random.IntN(1+random.IntN(720))) * time.Millisecond)
		}
		time.Sleep(6 * time.Second)
		require.Len(t, holders(nodes...), 1)
		l.mu.Lock()
		for _, e := range l.log {
			if e.what == "bind" || e.what == "release" {
				moves = append(moves, fmt.Sprint(e.node, " ", e.what))
				if bound == 0 {
					bound = e.at.Sub(began)
				}
			}
		}
		l.mu.Unlock()
		stopAll(t, nodes...)
	})
	return moves, bound
}

// Nodes that boot one after the other, or together, hear of each other. The first one is alone at the beginning, and neither later nor less sure.
func TestBootOfThreeIsAsSoonAndAsStillWithEars(t *testing.T) {
	for _, plain := range []bool{false, true} {
		for _, change := range []func(*vrrp.Config){nil, withoutPreemption} {
			for seed := range uint64(*simulations) {
				without, usual := boot(t, seed, false, plain, change)
				with, bound := boot(t, seed, true, plain, change)
				assert.Equal(t, usual, bound, "seed %d, plain %v", seed, plain)
				assert.Equal(t, without, with, "seed %d, plain %v", seed, plain)
			}
		}
	}
}
