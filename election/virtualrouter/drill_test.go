package virtualrouter

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// changesOfHolder counts how often the node was told of another holder since then.
func (m *member) changesOfHolder(since time.Time) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := 1; i < len(m.decisions); i++ {
		if d := m.decisions[i]; d.At.After(since) && d.Holder != m.decisions[i-1].Holder {
			n++
		}
	}
	return n
}

func elector(m *member) *Elector { return m.Elector.(*Elector) }

// A holder that stands still sends nothing, not even a farewell. Another node takes over after its lease, and it follows that one later.
func TestElectorThatStandsStillIsReplaced(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		before := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- elector(h).StandStill(ctx) }()
		time.Sleep(999 * time.Millisecond)
		assert.Empty(t, l.what(h.self), "nothing is sent, and nothing done")
		assert.Less(t, h.LeaseEnd().Sub(before), 3*interval, "the lease is not renewed")
		next := holder(t, 0, others...)
		assert.Greater(t, next.last().At, h.LeaseEnd(), "the lease was over before")
		require.NoError(t, <-ended)
		assert.Equal(t, []string{"release"}, l.what(h.self))
		assert.Equal(t, election.Backup, h.Status().State)
		assert.Equal(t, next.self, h.Status().Holder)
		stopAll(t, append(others, h)...)
	})
}

// Beats come from another goroutine. They must not say that the holder is there while its election stands still.
func TestElectorThatStandsStillDoesNotBeat(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, all := withPulse(t, [3]uint8{100, 100, 100})
		for _, a := range []netip.Addr{nodeB, nodeC} {
			p, last := l.felt[a], time.Time{}
			p.mu.Lock()
			p.beat = func() time.Time {
				if holds, _ := l.felt[nodeA].told(); holds {
					last = time.Now()
				}
				return last
			}
			p.mu.Unlock()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- elector(all[0]).StandStill(ctx) }()
		time.Sleep(4 * interval)
		assert.NotEmpty(t, holders(all[1:]...), "somebody has taken over")
		require.NoError(t, <-ended)
		time.Sleep(interval)
		holds, follows := l.felt[nodeA].told()
		assert.False(t, holds)
		assert.Equal(t, holder(t, 0, all[1:]...).self, follows, "it watches again")
		stopAll(t, all...)
	})
}

func TestElectorThatStandsStillStopsWhenItIsTold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- elector(h).StandStill(ctx) }()
		time.Sleep(time.Second)
		require.NoError(t, h.stop())
		require.NoError(t, <-ended)
		assert.ErrorIs(t, elector(h).StandStill(ctx), errStopped)
		stopAll(t, others...)
	})
}

// One that stands still for a moment is still the holder.
func TestElectorThatStandsStillWithinItsLeaseGoesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		ctx, cancel := context.WithTimeout(t.Context(), interval/2)
		defer cancel()
		require.NoError(t, elector(h).StandStill(ctx))
		time.Sleep(time.Second)
		assert.True(t, h.holds())
		assert.NotContains(t, l.what(h.self), "release")
		stopAll(t, append(others, h)...)
	})
}

func TestElectorTakesTheAddressBack(t *testing.T) {
	for name, tt := range map[string]struct {
		preempt bool
		delay   time.Duration
	}{
		"preempts":                 {preempt: true},
		"does not preempt":         {},
		"preempts after some time": {preempt: true, delay: 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLAN()
				l.talk = true
				var all []*member
				for _, self := range []netip.Addr{nodeA, nodeB, nodeC} {
					all = append(all, l.start(t, self, func(c *vrrp.Config) { c.Preempt, c.PreemptDelay = tt.preempt, tt.delay }))
				}
				for _, m := range all {
					m.SetProbe(func(context.Context) election.Fitness { return election.Fitness{} })
				}
				h := holder(t, 2*time.Second, all...)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				require.NoError(t, elector(h).Handover(ctx, ""))
				next := holder(t, 0, all...)
				require.NotEqual(t, h, next)
				time.Sleep(time.Second)
				l.mark()
				back := time.Now()
				require.NoError(t, elector(h).TakeBack(ctx))
				require.Equal(t, h, holder(t, 0, all...))
				assert.Contains(t, l.what(h.self), "REQUEST", "without loss")
				time.Sleep(2 * time.Second)
				assert.Equal(t, h, holder(t, 0, all...), "it stays")
				for _, m := range all {
					assert.Equal(t, h.self, m.Status().Holder)
				}
				changes := 0
				for _, m := range all {
					if m != h && m != next {
						changes = m.changesOfHolder(back)
					}
				}
				assert.Equal(t, 1, changes, "the third node sees one holder follow the other")
				assert.Equal(t, uint8(100), h.Status().Priority, "the priority is as it was")
				stopAll(t, all...)
			})
		})
	}
}

func TestTakeBackEndsWithItsContext(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		others[0].SetFitness(unfit)
		time.Sleep(100 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, elector(others[0]).TakeBack(ctx), election.ErrTimeout, "it is not fit")
		others[0].SetFitness(election.Fitness{})
		time.Sleep(2 * time.Second)
		assert.True(t, h.holds(), "nothing of the wish is left")
		stopAll(t, append(others, h)...)
	})
}

// A holder that is too slow to answer serves all the same: a drill's way back must not make two of them.
func TestTakeBackTakesNothingFromAMemberThatDoesNotAnswer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		l.deafen(members.Request)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		assert.ErrorIs(t, elector(others[0]).TakeBack(ctx), election.ErrTimeout)
		assert.Equal(t, h, holder(t, 0, append(others, h)...))
		stopAll(t, append(others, h)...)
	})
}

// What an operator reads about an address that stays where it went must not be that nobody could take it.
func TestTakeBackByPlainVRRPSaysWhyThereIsNone(t *testing.T) {
	for name, cfg := range map[string]Config{"port 0": {}, "a group": {Members: &messageWire{}, GroupMember: &GroupMember{}}} {
		t.Run(name, func(t *testing.T) {
			assert.EqualError(t, (&Elector{cfg: cfg}).TakeBack(t.Context()), "with port 0 and in a group it moves by plain VRRP, which has no way back")
		})
	}
}

// Where clients of every node are refused, all are less fit, and the address comes back after a drill for all that.
func TestElectorTakesBackAmongNodesThatAreAllLessFit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		all := append(others, h)
		for _, m := range all {
			m.SetFitness(election.Fitness{Less: 98, Reason: "nothing listens at the address"})
		}
		time.Sleep(10 * time.Second)
		first := holder(t, 0, all...)
		var rest []*member
		for _, m := range all {
			if m != first {
				rest = append(rest, m)
			}
		}
		still, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		require.NoError(t, elector(first).StandStill(still))
		holder(t, 0, rest...)

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, elector(first).TakeBack(ctx))
		assert.Equal(t, first, holder(t, time.Second, all...))
		stopAll(t, all...)
	})
}
