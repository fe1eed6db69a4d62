package virtualrouter

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// filter drops the advertisements on these ways; messages arrive.
func (l *lan) filter(ways ...[2]netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.mute)
	for _, w := range ways {
		l.mute[w] = true
	}
}

// refuse makes the second node refuse the messages of the first.
func (l *lan) refuse(ways ...[2]netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.deaf)
	for _, w := range ways {
		l.deaf[w] = true
	}
}

var allWays = [][2]netip.Addr{{nodeA, nodeB}, {nodeB, nodeA}, {nodeA, nodeC}, {nodeC, nodeA}, {nodeB, nodeC}, {nodeC, nodeB}}

// together lets time pass, and returns for how long two held the address.
func together(d time.Duration, list ...*member) (two time.Duration) {
	const step = time.Millisecond
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(step)
		if len(holders(list...)) > 1 {
			two += step
		}
	}
	return two
}

// Where advertisements do not arrive and messages do, one node holds the address, and the others say why they do not.
func TestSplitIsSettled(t *testing.T) {
	for name, ways := range map[string][][2]netip.Addr{
		"nothing arrives":      allWays,
		"A is not heard":       {{nodeA, nodeB}, {nodeA, nodeC}},
		"A hears nobody":       {{nodeB, nodeA}, {nodeC, nodeA}},
		"from A to B":          {{nodeA, nodeB}},
		"from C to B":          {{nodeC, nodeB}},
		"nobody hears C":       {{nodeA, nodeC}, {nodeB, nodeC}},
		"between A and B only": {{nodeA, nodeB}, {nodeB, nodeA}},
	} {
		for _, apart := range []time.Duration{0, 5 * time.Second} {
			for _, every := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
				t.Run(strings.Join([]string{name, apart.String(), every.String()}, ", "), func(t *testing.T) {
					bubble.Test(t, func(t *testing.T) {
						l := newLAN()
						l.talk = true
						l.filter(ways...)
						var list []*member
						var two time.Duration
						for _, a := range []netip.Addr{nodeA, nodeB, nodeC} {
							list = append(list, l.start(t, a, func(c *vrrp.Config) { c.Interval = every }))
							two += together(apart, list...)
						}
						two += together(6*every+2*time.Second, list...)
						assert.LessOrEqual(t, two, 3*time.Millisecond, "two hold")
						first := holder(t, 0, list...)
						for _, m := range list {
							unheard := m != first && slices.Contains(ways, [2]netip.Addr{first.self, m.self})
							if splits := m.Status().Splits; assert.Equal(t, unheard, len(splits) == 1, "%v with %v as the holder", m.self, first.self) && unheard {
								assert.Equal(t, first.self, splits[0].Address)
								assert.Contains(t, splits[0].Cause, "protocol 112")
								assert.False(t, splits[0].Both)
								assert.Equal(t, first.self, m.Status().Holder)
							}
						}
						assert.Zero(t, together(3*time.Second, list...))
						assert.Equal(t, first, holder(t, 0, list...), "it stays there")

						// A holder that dies is replaced as soon as its claim is over.
						l.isolate(first.self, true)
						at := time.Now()
						rest := slices.DeleteFunc(slices.Clone(list), func(m *member) bool { return m == first })
						for len(holders(rest...)) == 0 && time.Since(at) < time.Minute {
							time.Sleep(time.Millisecond)
						}
						assert.Less(t, time.Since(at), 4*every+20*time.Millisecond)
						assert.LessOrEqual(t, together(6*every+time.Second, rest...), 3*time.Millisecond)
						l.isolate(first.self, false)
						together(6*every+2*time.Second, list...)
						holder(t, 0, list...)
						l.filter()
						together(10*every, list...)
						for _, m := range list {
							assert.Empty(t, m.Status().Splits, "it is over")
						}
						holder(t, 0, list...)
						stopAll(t, list...)
					})
				})
			}
		}
	}
}

// A filter that comes while the nodes run, and while the address is passed on.
func TestSplitBeginsWhileTheNodesRun(t *testing.T) {
	for name, move := range map[string]bool{"at rest": false, "in the middle of a handover": true} {
		for _, ways := range [][][2]netip.Addr{allWays, {{nodeA, nodeB}, {nodeA, nodeC}}, {{nodeB, nodeA}, {nodeC, nodeA}}, {{nodeC, nodeA}, {nodeC, nodeB}}} {
			for _, after := range []time.Duration{0, 300 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 50 * time.Millisecond} {
				t.Run(name, func(t *testing.T) {
					bubble.Test(t, func(t *testing.T) {
						l, h, others := talking(t)
						list := append(others, h)
						if move {
							h.SetFitness(unfit)
						}
						time.Sleep(after)
						l.filter(ways...)
						assert.Zero(t, together(3*time.Second, list...))
						next := holder(t, 0, list...)
						assert.Equal(t, move, next != h)
						h.SetFitness(election.Fitness{})
						assert.Zero(t, together(time.Second, list...))
						next.SetFitness(unfit)
						assert.Zero(t, together(3*time.Second, list...))
						assert.NotEqual(t, next, holder(t, 0, list...), "the address can be passed on")
						stopAll(t, list...)
					})
				})
			}
		}
	}
}

// After a partition one of two holders hears nothing of the other but messages.
func TestSplitThatAPartitionLeavesIsSettledWithTheNextAdvertisement(t *testing.T) {
	for after := 300 * time.Millisecond; after < 1500*time.Millisecond; after += 70 * time.Millisecond {
		bubble.Test(t, func(t *testing.T) {
			l, h, others := talking(t)
			top := others[0]
			for _, o := range others {
				if top.self.Less(o.self) {
					top = o
				}
			}
			first := h.self.Less(top.self) // the one that is to yield
			deaf, loud := h.self, top.self
			if !first {
				deaf, loud = loud, deaf
			}
			l.isolate(top.self, true)
			time.Sleep(500*time.Millisecond + after)
			l.filter([2]netip.Addr{loud, deaf})
			l.isolate(top.self, false)
			assert.LessOrEqual(t, together(2*time.Second, append(others, h)...), interval+10*time.Millisecond, "%v", after)
			stopAll(t, append(others, h)...)
		})
	}
}

// A takeover from a holder that was heard is not slower because of what it said.
func TestSplitDoesNotSlowATakeover(t *testing.T) {
	for dies := time.Duration(0); dies < 1100*time.Millisecond; dies += 23*time.Millisecond + 100*time.Microsecond {
		bubble.Test(t, func(t *testing.T) {
			l, h, others := talking(t)
			time.Sleep(interval + dies)
			l.mu.Lock()
			var last time.Time
			for _, e := range l.log {
				if e.node == h.self && strings.HasPrefix(e.what, "send") {
					last = e.at
				}
			}
			l.mu.Unlock()
			l.isolate(h.self, true)
			for len(holders(others...)) == 0 {
				time.Sleep(100 * time.Microsecond)
			}
			assert.LessOrEqual(t, time.Since(last), 3*interval+interval*156/256+interval/8+time.Millisecond+200*time.Microsecond)
			for _, o := range others {
				assert.Empty(t, o.Status().Splits)
			}
			l.isolate(h.self, false)
			stopAll(t, append(others, h)...)
		})
	}
}

// A node that refuses all that another says cannot be told to yield: the other one yields, whatever its rank.
func TestSplitWithANodeThatIsDeaf(t *testing.T) {
	for _, deaf := range []netip.Addr{nodeA, nodeB} {
		for _, apart := range []time.Duration{0, 5 * time.Second} {
			for _, order := range [][]netip.Addr{{nodeA, nodeB}, {nodeB, nodeA}} {
				for _, every := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
					t.Run(deaf.String()+" "+apart.String()+" "+every.String(), func(t *testing.T) {
						bubble.Test(t, func(t *testing.T) {
							l := newLAN()
							l.talk = true
							l.filter(allWays...)
							hears := nodeA
							if deaf == nodeA {
								hears = nodeB
							}
							l.refuse([2]netip.Addr{hears, deaf})
							var list []*member
							var two time.Duration
							for _, a := range order {
								list = append(list, l.start(t, a, func(c *vrrp.Config) { c.Interval = every }))
								two += together(apart, list...)
							}
							two += together(10*time.Second, list...)
							assert.LessOrEqual(t, two, 70*time.Millisecond)
							first := holder(t, 0, list...)
							require.Equal(t, deaf, first.self)
							other := list[slices.IndexFunc(list, func(m *member) bool { return m != first })]
							splits := other.Status().Splits
							require.Len(t, splits, 1)
							assert.Contains(t, splits[0].Cause, "nothing that this node says is accepted there")
							l.isolate(deaf, true)
							together(5*time.Second, other)
							assert.True(t, other.holds(), "a dead node does not block a takeover")
							l.isolate(deaf, false)
							stopAll(t, list...)
						})
					})
				}
			}
		}
	}
}

// Messages say who is about to hold the address before that node binds it, however long that takes: nobody binds it, too.
func TestSplitIsSaidBeforeTheAddressIsBound(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk = true
		l.slow.Store(int64(300 * time.Millisecond))
		l.filter(allWays...)
		all := []*member{l.start(t, nodeA, nil), l.start(t, nodeB, nil), l.start(t, nodeC, nil)}
		assert.Zero(t, together(3*time.Second, all...))
		h := holder(t, 0, all...)
		for _, m := range all {
			assert.Equal(t, m == h, m.Status().Counters.Takeovers == 1, "%v", m.self)
		}
		stopAll(t, all...)
	})
}
