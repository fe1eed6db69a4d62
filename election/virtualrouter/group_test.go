package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members/lifeline"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// pair is a node with an instance on each of two links, in one group.
type pair struct {
	group      *Group
	left, rite *member
}

// bench2 is two links.
type bench2 struct{ left, rite *lan }

func (b bench2) start(t *testing.T, self netip.Addr, priority uint8) *pair {
	t.Helper()
	p := &pair{group: NewGroup("g")}
	p.group.Set([]string{"left", "rite"})
	change := func(c *vrrp.Config) { c.Priority = priority }
	p.left = b.left.startGrouped(t, self, p.group.Member("left"), change)
	p.rite = b.rite.startGrouped(t, self, p.group.Member("rite"), change)
	return p
}

func (p *pair) holds() [2]bool { return [2]bool{p.left.holds(), p.rite.holds()} }

func (p *pair) takeovers() uint64 {
	return p.left.Status().Counters.Takeovers + p.rite.Status().Counters.Takeovers
}

func (p *pair) stop(t *testing.T) {
	t.Helper()
	p.left.cancel(nil)
	p.rite.cancel(nil)
	require.NoError(t, <-p.left.ended)
	require.NoError(t, <-p.rite.ended)
}

var both, neither = [2]bool{true, true}, [2]bool{}

// twoNodes starts a with the higher priority and b, and lets a become Active.
func twoNodes(t *testing.T, test func(t *testing.T, b2 bench2, a, b *pair)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		b2 := bench2{newLAN(), newLAN()}
		a, b := b2.start(t, nodeA, 200), b2.start(t, nodeB, 100)
		time.Sleep(2 * time.Second)
		require.Equal(t, both, a.holds())
		require.Equal(t, neither, b.holds())
		test(t, b2, a, b)
		a.stop(t)
		b.stop(t)
	})
}

func TestGroupMovesTogetherWhenItsHolderDies(t *testing.T) {
	twoNodes(t, func(t *testing.T, b2 bench2, a, b *pair) {
		b2.left.isolate(nodeA, true)
		b2.rite.isolate(nodeA, true)
		for range 600 {
			time.Sleep(time.Millisecond)
			h := b.holds()
			assert.Equal(t, h[0], h[1], "both or none, within a millisecond")
		}
		assert.Equal(t, both, b.holds())
	})
}

// TestGroupMovesTogetherWhenItsHolderIsKilled: its lines end on both links, and so do its leases. Where one end is not heard, the others wait for its lease.
func TestGroupMovesTogetherWhenItsHolderIsKilled(t *testing.T) {
	for name, tt := range map[string]struct {
		hears       bool // on the right link
		least, most time.Duration
	}{
		"both ends are heard": {true, 0, 10 * time.Millisecond},
		"one end is not":      {false, Lease(vrrp.Config{Interval: interval}) - interval, 450 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b2 := bench2{newLAN(), newLAN()}
				for _, l := range []*lan{b2.left, b2.rite} {
					l.talk, l.lines = true, true
				}
				a, b := b2.start(t, nodeA, 200), b2.start(t, nodeB, 100)
				time.Sleep(5 * time.Second)
				require.Equal(t, both, a.holds())

				began := time.Now()
				b2.left.dies(nodeA, nodeB)
				b2.rite.dies(nodeA)
				if tt.hears {
					b2.rite.lineEnds(nodeB, nodeA, lifeline.Ended)
				}
				for b.holds() != both {
					time.Sleep(time.Millisecond / 4)
					require.Less(t, time.Since(began), time.Second, "the group does not move")
				}
				assert.GreaterOrEqual(t, time.Since(began), tt.least)
				assert.LessOrEqual(t, time.Since(began), tt.most)
				time.Sleep(time.Second)
				assert.Equal(t, both, b.holds())
				assert.Equal(t, uint64(2), b.takeovers())
				assert.Equal(t, code.ProcessEnded, b.left.last().Code)
				a.stop(t)
				b.stop(t)
			})
		})
	}
}

func TestGroupGivesUpTogether(t *testing.T) {
	tests := []struct {
		name string
		what func(a *pair)
	}{
		{"one is unfit", func(a *pair) { a.rite.SetFitness(election.Fitness{Less: 255, Reason: "unhealthy"}) }},
		{"one is out", func(a *pair) { a.rite.SetFitness(election.Fitness{Out: true, Reason: "unhealthy"}) }},
		{"one has lost its interface", func(a *pair) { a.rite.cancel(nil); <-a.rite.ended; close(a.rite.ended) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			twoNodes(t, func(t *testing.T, b2 bench2, a, b *pair) {
				tt.what(a)
				time.Sleep(time.Second)
				assert.Equal(t, neither, a.holds())
				assert.Equal(t, both, b.holds())
				assert.Contains(t, a.left.Status().Fitness.Reason, "group g: rite: ")
				assert.Equal(t, uint64(2), b.takeovers())
			})
		})
	}
}

func TestGroupGivesUpWhenOneCannotBind(t *testing.T) {
	twoNodes(t, func(t *testing.T, b2 bench2, a, b *pair) {
		b.rite.setRefuse(true)
		b2.left.isolate(nodeA, true)
		b2.rite.isolate(nodeA, true)
		time.Sleep(time.Second)
		assert.Equal(t, neither, b.holds(), "one address without the other is worth nothing")
		assert.Contains(t, b.left.Status().Fitness.Reason, "could not be bound")
		b.rite.setRefuse(false)
		time.Sleep(30 * time.Second)
		assert.Equal(t, both, b.holds())
	})
}

// One link is cut: b does not hear a there, and still does on the other.
func TestGroupPrefersToStayBackup(t *testing.T) {
	twoNodes(t, func(t *testing.T, b2 bench2, a, b *pair) {
		b2.rite.isolate(nodeA, true)
		time.Sleep(10 * time.Second)
		assert.Equal(t, both, a.holds())
		assert.Equal(t, neither, b.holds())
		b2.rite.isolate(nodeA, false)
		time.Sleep(10 * time.Second)
		assert.Equal(t, both, a.holds())
		assert.Equal(t, uint64(2), a.takeovers(), "nothing has flapped")
		assert.Zero(t, b.takeovers())
	})
}

func TestGroupHealsAsOne(t *testing.T) {
	twoNodes(t, func(t *testing.T, b2 bench2, a, b *pair) {
		for _, l := range []*lan{b2.left, b2.rite} {
			l.isolate(nodeA, true)
		}
		time.Sleep(2 * time.Second)
		require.Equal(t, both, b.holds())
		b2.left.isolate(nodeA, false)
		time.Sleep(2 * time.Second)
		b2.rite.isolate(nodeA, false)
		time.Sleep(2 * time.Second)
		assert.Equal(t, both, a.holds())
		assert.Equal(t, neither, b.holds())
	})
}

// Two nodes hold one address each: neither can have both, so both let go, and one gets them.
func TestGroupThatWasSplitComesTogether(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b2 := bench2{newLAN(), newLAN()}
		a := b2.left.start(t, nodeA, nil) // they are put into their groups later, as by a reload
		b := b2.rite.start(t, nodeB, nil)
		time.Sleep(time.Second)
		require.True(t, a.holds() && b.holds())
		pa, pb := b2.start(t, nodeC, 100), b2.start(t, netip.MustParseAddr("10.77.0.14"), 100)
		time.Sleep(5 * time.Second)
		assert.Equal(t, neither, pa.holds())
		require.NoError(t, a.stop())
		time.Sleep(5 * time.Second)
		assert.Equal(t, neither, pa.holds(), "the other address has its holder still")
		require.NoError(t, b.stop())
		time.Sleep(2 * time.Second)
		assert.True(t, (pa.holds() == both) != (pb.holds() == both))
		assert.True(t, (pa.holds() == neither) != (pb.holds() == neither))
		pa.stop(t)
		pb.stop(t)
	})
}

// Somebody outside the group takes one address for good: the group does not keep the other.
func TestGroupDoesNotKeepHalf(t *testing.T) {
	twoNodes(t, func(t *testing.T, b2 bench2, a, b *pair) {
		x := b2.rite.start(t, nodeC, func(c *vrrp.Config) { c.Priority = 250 })
		for range 3000 {
			time.Sleep(time.Millisecond)
			h := a.holds()
			assert.Equal(t, h[0], h[1], "both or none, within a millisecond")
		}
		assert.True(t, x.holds())
		assert.Equal(t, neither, a.holds())
		assert.Equal(t, neither, b.holds())
		require.NoError(t, x.stop())
		time.Sleep(2 * time.Second)
		assert.Equal(t, both, a.holds())
	})
}

func TestGroupWaitsAMomentForANewMember(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		g := NewGroup("g")
		g.Set([]string{"one"})
		one := l.startGrouped(t, nodeA, g.Member("one"), nil)
		time.Sleep(time.Second)
		require.True(t, one.holds())
		g.Set([]string{"one", "two"})
		assert.Nil(t, g.Member("three"))
		time.Sleep(groupGrace - time.Millisecond)
		assert.True(t, one.holds(), "it may be about to start")
		time.Sleep(2 * time.Millisecond)
		assert.False(t, one.holds())
		assert.Equal(t, "group g: two: not in its election", one.Status().Fitness.Reason)
		g.Set([]string{"one"})
		time.Sleep(time.Second)
		assert.True(t, one.holds())
		require.NoError(t, one.stop())
	})
}

func TestInstanceThatIsTakenOutOfAGroupTakesNobodyWithIt(t *testing.T) {
	g := NewGroup("g")
	g.Set([]string{"a", "b"})
	a, b := g.Member("a"), g.Member("b")
	for _, m := range []*GroupMember{a, b} {
		m.join(func() {})
		m.tell(election.Active, false, false)
	}
	g.Set([]string{"a"})
	b.leave()
	assert.Empty(t, a.mustYield(time.Minute), "what a reload does not name never moves")
	assert.Equal(t, election.Fitness{}, a.fit(election.Fitness{}))

	g.Set([]string{"a", "b"})
	b = g.Member("b")
	b.join(func() {})
	b.tell(election.Active, false, false)
	b.leave()
	assert.NotEmpty(t, a.mustYield(time.Minute), "one that is still in the group")
}

func TestGroupWaitsForEachOfItsInstances(t *testing.T) {
	g := NewGroup("g")
	g.Set([]string{"a", "b"})
	a, b := g.Member("a"), g.Member("b")
	for _, m := range []*GroupMember{a, b} {
		m.join(func() {})
		m.tell(election.Backup, true, false)
	}
	assert.False(t, b.fit(election.Fitness{Wait: true}).Out)
	assert.False(t, a.fit(election.Fitness{}).Out, "nobody leaves its election for a wait")
	assert.False(t, a.mayTake())
	b.fit(election.Fitness{})
	assert.True(t, a.mayTake())
}
