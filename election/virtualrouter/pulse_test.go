package virtualrouter

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/members/pulse"
	"github.com/keepvip/keepvip/vrrp"
)

// lanPulse is a Pulse that a test speaks for.
type lanPulse struct {
	mu      sync.Mutex // guards what follows
	holds   bool
	follows netip.Addr
	heard   bool
	beat    func() time.Time // nil: no beat arrives
}

func (p *lanPulse) Beat(netip.Addr) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beat == nil {
		return time.Time{}
	}
	return p.beat()
}

func (p *lanPulse) Tell(holds bool, follows netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds, p.follows = holds, follows
}

func (p *lanPulse) told() (bool, netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holds, p.follows
}

func (p *lanPulse) Heard(netip.Addr, time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard
}

func (p *lanPulse) alwaysBeats() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beat = time.Now
}

func (p *lanPulse) State(netip.Addr) (time.Duration, string) { return pulse.LeastWait, "" }

// finds lets a node know that another one is gone, as its pulse and that of a third have found.
func (l *lan) finds(at, gone, agreed netip.Addr) {
	for _, w := range l.mail {
		if w.self == at {
			w.put(members.Received{Source: gone, At: time.Now(), Gone: &pulse.Gone{
				Source: gone, Since: time.Now().Add(-10 * time.Millisecond), Silent: 51 * time.Millisecond, Echoes: 10, Agreed: []netip.Addr{agreed}, Wait: pulse.LeastWait,
			}})
		}
	}
}

// withPulse runs nodes that go by beats, of which the first holds the address.
func withPulse(t *testing.T, priorities [3]uint8) (*lan, []*member) {
	t.Helper()
	l := newLAN()
	l.talk, l.lines, l.felt = true, true, map[netip.Addr]*lanPulse{}
	var all []*member
	for i, a := range []netip.Addr{nodeA, nodeB, nodeC} {
		all = append(all, l.start(t, a, func(c *vrrp.Config) { c.Priority, c.Preempt = priorities[i], false }))
		if i == 0 {
			holder(t, time.Second, all...)
		}
	}
	require.Equal(t, nodeA, holder(t, 2*time.Second, all...).self)
	for i, a := range []netip.Addr{nodeA, nodeB, nodeC} {
		holds, follows := l.felt[a].told()
		assert.Equal(t, i == 0, holds)
		assert.Equal(t, i > 0, follows == nodeA, "%v follows %v", a, follows)
	}
	return l, all
}

func TestNodeOfTheActiveThatIsGoneIsTakenOverFrom(t *testing.T) {
	for name, tt := range map[string]struct {
		priorities [3]uint8
		find       []netip.Addr
		want       int
		within     time.Duration
	}{
		"equals, the greater address first": {[3]uint8{100, 100, 100}, []netip.Addr{nodeB, nodeC}, 2, 4 * time.Millisecond},
		"the higher priority first":         {[3]uint8{100, 95, 90}, []netip.Addr{nodeC, nodeB}, 1, 4 * time.Millisecond},
		"the first does not find it":        {[3]uint8{100, 100, 100}, []netip.Addr{nodeB}, 1, 2*pulse.LeastWait + 4*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l, all := withPulse(t, tt.priorities)
				time.Sleep(interval / 3)
				l.dies(nodeA)
				time.Sleep(40 * time.Millisecond)
				began := time.Now()
				for _, a := range tt.find {
					l.finds(a, nodeA, nodeC)
				}
				for len(holders(all[1:]...)) == 0 {
					time.Sleep(time.Millisecond / 4)
					require.Less(t, time.Since(began), time.Second, "nobody takes over")
				}
				assert.LessOrEqual(t, time.Since(began), tt.within)
				time.Sleep(time.Second)
				taker := all[tt.want]
				assert.Equal(t, []netip.Addr{taker.self}, holders(all[1:]...), "one takes over, and no other after it")
				assert.Equal(t, code.NodeGone, taker.last().Code)
				assert.Contains(t, taker.last().Cause, "no beat for 51 ms, 10 echoes unanswered, ")
				assert.Contains(t, taker.last().Cause, " agreed")
				assert.Equal(t, nodeA, taker.last().From.Address)
				if len(tt.find) == 2 {
					other := all[3-tt.want]
					assert.Equal(t, code.NodeGone, other.last().Code, "who follows knows why, too")
					assert.NotContains(t, l.what(other.self), "bind")
				}
				holds, _ := l.felt[taker.self].told()
				assert.True(t, holds, "it beats from now on")
				stopAll(t, all...)
			})
		})
	}
}

// TestEntryWithoutPulseGoesByAdvertisements, also where another entry of the node has heard that the Active's node is gone.
func TestEntryWithoutPulseGoesByAdvertisements(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, all := withLines(t, [3]uint8{100, 100, 100})
		l.losesAnswers()
		l.finds(nodeB, nodeA, nodeC)
		l.finds(nodeC, nodeA, nodeB)
		time.Sleep(time.Second)
		assert.Equal(t, []netip.Addr{nodeA}, holders(all...))
		assert.Nil(t, all[1].Status().Detector)
		stopAll(t, all...)
	})
}

// TestNodeThatOnlyLooksGoneKeepsTheAddress, whatever shows that it is there.
func TestNodeThatOnlyLooksGoneKeepsTheAddress(t *testing.T) {
	for name, looks := range map[string]func(l *lan, all []*member){
		"somebody answers for the address": func(l *lan, _ []*member) {
			l.finds(nodeB, nodeA, nodeC)
			l.finds(nodeC, nodeA, nodeB)
		},
		"its kernel or a beat is heard meanwhile": func(l *lan, _ []*member) {
			l.losesAnswers()
			for _, p := range l.felt {
				p.mu.Lock()
				p.heard = true
				p.mu.Unlock()
			}
			l.finds(nodeB, nodeA, nodeC)
			l.finds(nodeC, nodeA, nodeB)
		},
		"an advertisement is heard meanwhile": func(l *lan, all []*member) {
			l.losesAnswers()
			// the node's turn comes after the next advertisement
			l.isolate(nodeC, true)
			for _, w := range l.mail {
				if w.self == nodeB {
					w.put(members.Received{Source: nodeA, At: time.Now(), Gone: &pulse.Gone{
						Source: nodeA, Since: time.Now(), Agreed: []netip.Addr{nodeC}, Wait: 2 * interval,
					}})
				}
			}
		},
		"it is another Backup": func(l *lan, _ []*member) {
			l.losesAnswers()
			l.finds(nodeB, nodeC, nodeA)
			l.finds(nodeC, nodeB, nodeA)
		},
		"a router that is no member may be there": func(l *lan, all []*member) {
			l.losesAnswers()
			for _, m := range all[1:] {
				m.wire.box.put(Arrival{Source: netip.MustParseAddr("10.77.0.99"), At: time.Now(), Advertisement: vrrp.Advertisement{
					Version: 3, VRID: 51, Priority: 1, Interval: interval, Addresses: []netip.Addr{vip},
				}})
			}
			time.Sleep(2 * interval)
			for _, m := range all[1:] {
				assert.Contains(t, m.Status().Detector.Plain, "10.77.0.99")
			}
			l.finds(nodeB, nodeA, nodeC)
			l.finds(nodeC, nodeA, nodeB)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l, all := withPulse(t, [3]uint8{100, 100, 100})
				time.Sleep(interval / 2)
				looks(l, all)
				time.Sleep(time.Second)
				assert.Contains(t, holders(all...), nodeA)
				assert.NotContains(t, l.what(nodeB), "bind", "nobody else has held it")
				assert.NotContains(t, l.what(nodeA), "release")
				stopAll(t, all...)
			})
		})
	}
}

// losesWhatHolds loses the advertisements and the messages of the first node.
func (l *lan) losesWhatHolds(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, to := range []netip.Addr{nodeB, nodeC} {
		l.mute[[2]netip.Addr{nodeA, to}], l.deaf[[2]netip.Addr{nodeA, to}] = on, on
	}
}

// TestLostAdvertisementsMoveNothingWhileBeatsCome: three in a row are lost now and then on a bad network, and many beats are not.
func TestLostAdvertisementsMoveNothingWhileBeatsCome(t *testing.T) {
	for name, tt := range map[string]struct {
		beats         bool // of the Active, all the time
		silent        bool // nobody answers for the address
		least, before time.Duration
	}{
		"beats come":                            {true, true, 9 * interval, 12 * interval},
		"beats stop as well":                    {false, true, 2 * interval, 4 * interval},
		"beats stop, and the address is served": {false, false, 9 * interval, 12 * interval},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l, all := withPulse(t, [3]uint8{100, 100, 100})
				time.Sleep(interval / 2)
				lost := time.Now()
				l.losesWhatHolds(true)
				if tt.silent {
					l.losesAnswers()
				}
				for _, a := range []netip.Addr{nodeB, nodeC} {
					p := l.felt[a]
					p.mu.Lock()
					p.beat = func() time.Time {
						if tt.beats {
							return time.Now()
						}
						return lost
					}
					p.mu.Unlock()
				}
				time.Sleep(tt.least)
				assert.Equal(t, []netip.Addr{nodeA}, holders(all...), "nobody else has taken over yet")
				time.Sleep(tt.before - tt.least)
				assert.NotEmpty(t, holders(all[1:]...), "somebody has")
				stopAll(t, all...)
			})
		})
	}
}

// TestActiveWhoseAdvertisementsComeAgainIsFollowedOn after any number of them was lost that its beats have bridged.
func TestActiveWhoseAdvertisementsComeAgainIsFollowedOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, all := withPulse(t, [3]uint8{100, 100, 100})
		for _, a := range []netip.Addr{nodeB, nodeC} {
			l.felt[a].alwaysBeats()
		}
		for range 5 {
			for _, on := range []bool{true, false} {
				l.losesWhatHolds(on)
				time.Sleep(7 * interval)
			}
		}
		assert.Equal(t, []netip.Addr{nodeA}, holders(all...))
		assert.NotContains(t, l.what(nodeB), "bind")
		assert.NotContains(t, l.what(nodeC), "bind")
		stopAll(t, all...)
	})
}

// beatsBadly has the first node beat: of what it says a fifth is lost on the way to each other, its advertisements as well. It stands still now and then,
// for less than its lease lasts.
func (l *lan) beatsBadly(seed uint64, length time.Duration, holder *member) {
	rng := rand.New(rand.NewPCG(seed, 43))
	var mu sync.Mutex // guards rng and last
	loses := func() bool { return rng.Float64() < 0.2 }
	last := map[netip.Addr]time.Time{}
	for _, a := range []netip.Addr{nodeB, nodeC} {
		p := l.felt[a]
		p.mu.Lock()
		p.beat = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return last[a]
		}
		p.mu.Unlock()
	}
	l.mu.Lock()
	l.loses = func() bool {
		mu.Lock()
		defer mu.Unlock()
		return loses()
	}
	l.mu.Unlock()
	beat := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, a := range []netip.Addr{nodeB, nodeC} {
			if !loses() {
				last[a] = time.Now()
			}
		}
	}
	stall := func() (d time.Duration, now bool) {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(rng.Int64N(int64(2*interval - 20*time.Millisecond))), rng.IntN(30) == 0
	}
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(pulse.Every) {
		beat()
		if d, now := stall(); now {
			thaw := holder.wire.freeze()
			time.Sleep(d)
			thaw()
		}
	}
}

// TestLossBesideAHolderThatIsLateMovesNothing: it advertises within its lease, and so much of that arrives that the others know.
func TestLossBesideAHolderThatIsLateMovesNothing(t *testing.T) {
	for seed := range uint64(3) {
		bubble.Test(t, func(t *testing.T) {
			l, all := withPulse(t, [3]uint8{100, 100, 100})
			l.beatsBadly(seed, 5*time.Minute, all[0])
			n := 0
			for _, a := range []netip.Addr{nodeB, nodeC} {
				for _, what := range l.what(a) {
					if what == "bind" {
						n++
					}
				}
			}
			assert.Zero(t, n, "takeovers with seed %d", seed)
			stopAll(t, all...)
		})
	}
}
