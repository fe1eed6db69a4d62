package virtualrouter

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/members/lifeline"
	"github.com/keepvip/keepvip/vrrp"
)

// answers takes as long as asking does where nobody answers.
func (l *lan) answers(a netip.Addr) bool {
	time.Sleep(2 * time.Millisecond)
	l.mu.Lock()
	l.asked = append(l.asked, a)
	nodes, mum := slices.Clone(l.nodes), l.mum
	dead := map[netip.Addr]bool{}
	for a := range l.dead {
		dead[a] = true
	}
	l.mu.Unlock()
	return !mum && slices.ContainsFunc(nodes, func(m *member) bool { return m.holds() && !dead[m.self] })
}

func (l *lan) losesAnswers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mum = true
}

// lineEnds lets a node hear of the end of a line.
func (l *lan) lineEnds(at, from netip.Addr, kind lifeline.Kind) {
	for _, w := range l.mail {
		if w.self == at {
			w.put(members.Received{Source: from, Line: kind, At: time.Now()})
		}
	}
}

// dies ends the process of a node: nothing of it is heard any more, and its kernel has taken the lease away.
func (l *lan) dies(node netip.Addr, heardBy ...netip.Addr) {
	l.isolate(node, true)
	l.mu.Lock()
	l.dead[node] = true
	l.mu.Unlock()
	for _, a := range heardBy {
		l.lineEnds(a, node, lifeline.Ended)
	}
}

// withLines runs nodes that have lifelines, of which the first holds the address.
func withLines(t *testing.T, priorities [3]uint8) (*lan, []*member) {
	t.Helper()
	l := newLAN()
	l.talk, l.lines = true, true
	var all []*member
	for i, a := range []netip.Addr{nodeA, nodeB, nodeC} {
		all = append(all, l.start(t, a, func(c *vrrp.Config) { c.Priority, c.Preempt = priorities[i], false }))
		if i == 0 {
			holder(t, time.Second, all...)
		}
	}
	require.Equal(t, nodeA, holder(t, 2*time.Second, all...).self)
	return l, all
}

// TestNextMemberWaitsLongerWhereManyEntriesMove: the first one says that it is the Active when it has taken over those before.
func TestNextMemberWaitsLongerWhereManyEntriesMove(t *testing.T) {
	const entries = 25
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk, l.lines, l.entries = true, true, entries
		all := []*member{l.start(t, nodeA, nil)}
		holder(t, time.Second, all...)
		for _, a := range []netip.Addr{nodeB, nodeC} {
			all = append(all, l.start(t, a, nil))
		}
		time.Sleep(2 * time.Second)
		began := time.Now()
		l.dies(nodeA, nodeB)
		for len(holders(all[1:]...)) == 0 {
			time.Sleep(time.Millisecond / 4)
			require.Less(t, time.Since(began), time.Second, "nobody takes over")
		}
		gap := rankGap + (entries-1)*entryTakes
		assert.GreaterOrEqual(t, time.Since(began), gap)
		assert.LessOrEqual(t, time.Since(began), gap+4*time.Millisecond)
		assert.Equal(t, []netip.Addr{nodeB}, holders(all[1:]...))
		stopAll(t, all...)
	})
}

func TestEndOfTheActivesProcessIsTakenOverFrom(t *testing.T) {
	for name, tt := range map[string]struct {
		priorities [3]uint8
		hear       []netip.Addr
		want       int
		within     time.Duration
	}{
		"equals, the greater address first":       {[3]uint8{100, 100, 100}, []netip.Addr{nodeB, nodeC}, 2, 4 * time.Millisecond},
		"the higher priority first":               {[3]uint8{100, 90, 95}, []netip.Addr{nodeC, nodeB}, 2, 4 * time.Millisecond},
		"the first does not hear of it":           {[3]uint8{100, 100, 100}, []netip.Addr{nodeB}, 1, rankGap + 4*time.Millisecond},
		"nobody hears of it: by silence, as ever": {[3]uint8{100, 100, 100}, nil, 2, 400 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l, all := withLines(t, tt.priorities)
				began := time.Now()
				l.dies(nodeA, tt.hear...)
				for len(holders(all[1:]...)) == 0 {
					time.Sleep(time.Millisecond / 4)
					require.Less(t, time.Since(began), time.Second, "nobody takes over")
				}
				took := time.Since(began)
				assert.LessOrEqual(t, took, tt.within)
				time.Sleep(time.Second)
				assert.Equal(t, []netip.Addr{all[tt.want].self}, holders(all[1:]...), "one takes over, and no other after it")
				want := code.ProcessEnded
				if len(tt.hear) == 0 {
					want = code.HolderSilent
					assert.Greater(t, took, Lease(vrrp.Config{Interval: interval})-interval)
				}
				assert.Equal(t, want, all[tt.want].last().Code)
				assert.Equal(t, nodeA, all[tt.want].last().From.Address)
				if len(tt.hear) == 2 {
					other := all[3-tt.want]
					assert.Equal(t, code.ProcessEnded, other.last().Code, "who follows knows why, too")
				}
				stopAll(t, all...)
			})
		})
	}
}

// TestBrokenLineMovesNothing: what is on the way may end a line that the kernel of the Active has not ended.
func TestBrokenLineMovesNothing(t *testing.T) {
	for name, breaks := range map[string]func(l *lan){
		"the Active answers": func(l *lan) { l.lineEnds(nodeB, nodeA, lifeline.Ended) },
		"its answers are lost, and it hears that its end has broken": func(l *lan) {
			l.losesAnswers()
			l.lineEnds(nodeA, nodeB, lifeline.Broken)
			l.lineEnds(nodeB, nodeA, lifeline.Ended)
		},
		"it is that of another Backup": func(l *lan) {
			l.losesAnswers()
			l.lineEnds(nodeB, nodeC, lifeline.Ended)
			l.lineEnds(nodeC, nodeB, lifeline.Ended)
			l.lineEnds(nodeA, nodeB, lifeline.Ended)
		},
		"it is that of a stranger": func(l *lan) {
			l.losesAnswers()
			l.lineEnds(nodeB, netip.MustParseAddr("10.77.0.99"), lifeline.Ended)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l, all := withLines(t, [3]uint8{100, 100, 100})
				time.Sleep(interval / 2)
				breaks(l)
				time.Sleep(time.Second)
				assert.Equal(t, []netip.Addr{nodeA}, holders(all...))
				assert.NotContains(t, append(l.what(nodeB), l.what(nodeC)...), "bind", "nobody else has held it")
				assert.NotContains(t, l.what(nodeA), "release")
				stopAll(t, all...)
			})
		})
	}
}
