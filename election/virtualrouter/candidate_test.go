package virtualrouter

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// sends are the advertisements of a node.
func (l *lan) sends(m *member) (n int) {
	return len(slices.DeleteFunc(l.what(m.self), func(what string) bool { return !strings.HasPrefix(what, "send") }))
}

// noCandidate starts a node that is a member and no more, whatever its priority.
func (l *lan) noCandidate(t *testing.T, priority uint8) *member {
	t.Helper()
	l.none = true
	defer func() { l.none = false }()
	return l.start(t, nodeC, func(c *vrrp.Config) { c.Priority = priority })
}

func TestNoCandidateNeverHoldsTheAddress(t *testing.T) {
	for name, talk := range map[string]bool{"members' protocol": true, "plain VRRP": false} {
		for _, priority := range []uint8{100, 254, ownerPriority} {
			t.Run(name, func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					l := newLAN()
					l.talk = talk
					none := l.noCandidate(t, priority)
					time.Sleep(10 * time.Second)
					assert.False(t, none.holds(), "nobody else is there")
					assert.Equal(t, election.Backup, none.Status().State)
					a := l.start(t, nodeA, nil)
					b := l.start(t, nodeB, nil)
					h := holder(t, 2*time.Second, none, a, b)
					s := none.Status()
					assert.Equal(t, h.self, s.Holder)
					assert.Equal(t, code.NoCandidate, s.Fitness.Code)
					assert.Equal(t, uint8(unfitPriority), s.Priority)
					assert.True(t, s.Members[slices.IndexFunc(s.Members, func(m election.Member) bool { return m.Self })].NoCandidate)
					for _, m := range []*member{a, b} {
						l.isolate(m.self, true)
					}
					time.Sleep(10 * time.Second)
					assert.False(t, none.holds(), "both candidates are gone")
					assert.Zero(t, l.sends(none))
					stopAll(t, none, a, b)
					assert.Zero(t, l.sends(none), "it has nothing to resign from")
				})
			})
		}
	}
}

func TestNoCandidateIsGivenNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk = true
		a, none := l.start(t, nodeA, nil), l.noCandidate(t, 254)
		none.spreader().SetSpread(spreadHere())
		a.spreader().SetSpread(spreadHere())
		require.Equal(t, a, holder(t, 2*time.Second, a, none))
		o := seen(a, none.self)
		assert.True(t, o.NoCandidate)
		assert.False(t, o.SaysFit())
		assert.True(t, o.Spread.Fit, "it serves its share")
		assert.Equal(t, election.NoCandidate, o.Unfit)
		none.SetFitness(unfit)
		time.Sleep(time.Second)
		o = seen(a, none.self)
		assert.False(t, o.Spread.Fit)
		assert.Equal(t, "unhealthy", o.Unfit, "what keeps it from serving says more")
		none.SetFitness(election.Fitness{})
		time.Sleep(time.Second)

		h := a.Elector.(*Elector)
		for _, to := range []string{"", none.self.String()} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			require.ErrorIs(t, h.Handover(ctx, to), election.ErrNoTaker)
			cancel()
		}
		require.ErrorIs(t, none.Elector.(*Elector).Handover(t.Context(), ""), election.ErrNotActive)
		a.SetFitness(unfit)
		time.Sleep(5 * time.Second)
		assert.True(t, a.holds(), "an unhealthy candidate holds it rather than nobody")
		stopAll(t, a, none)
		assert.Zero(t, l.sends(none))
	})
}

// A list of candidates changes by a reload, on one node after the other.
func TestNoCandidateIsWhatANodeBecomesAndIsNoMore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		all := append([]*member{h}, others...)
		h.Elector.(*Elector).SetCandidate(false)
		next := holder(t, time.Second, all...)
		require.NotEqual(t, h, next)
		assert.Len(t, next.taken(), 1, "it was passed on without a gap")
		for _, m := range others {
			m.Elector.(*Elector).SetCandidate(false)
		}
		assert.Equal(t, next, holder(t, 5*time.Second, all...), "the last of them keeps it until another one may have it")
		h.Elector.(*Elector).SetCandidate(true)
		assert.Equal(t, h, holder(t, members.DefaultRecoverHold+time.Second, all...), "as after a time in which nobody was fit")
		require.NoError(t, h.stop())
		time.Sleep(5 * time.Second)
		assert.Empty(t, holders(others...))
		others[0].Elector.(*Elector).SetCandidate(true)
		assert.Equal(t, others[0], holder(t, time.Second, others...), "its timer has long expired")
		stopAll(t, others...)
	})
}

// No fault makes a machine answer that is no candidate.
func TestMachinesThatAreNoCandidatesNeverAnswer(t *testing.T) {
	for seed := range uint64(10) {
		l := newLink(t, seed, 100, 100, 254, 254)
		for _, s := range l.nodes {
			s.none = s.prio == 254
			s.start()
		}
		l.run(3 * time.Second)
		for range 40 {
			l.fault()
			l.run(l.upTo(700 * time.Millisecond))
			for _, s := range l.nodes {
				require.False(t, s.none && (s.bound || !s.lease.IsZero()), "seed %d: %s", seed, s.self)
			}
		}
	}
}
