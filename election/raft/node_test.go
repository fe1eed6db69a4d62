package raft

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
)

func TestNodeThreeElectAHolderInAnyOrder(t *testing.T) {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 1}, {1, 2}, {2, 0}}
	for _, order := range orders {
		bubble.Test(t, func(t *testing.T) {
			l := newLan(t, 3)
			defer l.stopAll()
			for n, i := range order {
				l.hosts[addr(i)].boot()
				if n == 0 {
					assert.NotZero(t, l.watch(time.Second), "a minority holds nothing")
				}
				if n == 1 {
					_, took := l.await(3 * time.Second)
					t.Log(order, "a holder after", took)
				}
				time.Sleep(700 * time.Millisecond)
			}
			assert.LessOrEqual(t, l.watch(5*time.Second), 100*time.Millisecond, "nothing moves")
			for _, i := range order {
				assert.Len(t, l.hosts[addr(i)].node.cluster.voters(), 3)
				assert.True(t, l.hosts[addr(i)].node.cluster.voice())
			}
		})
	}
}

func TestNodeSuccessorOfADeadHolder(t *testing.T) {
	for range 10 {
		bubble.Test(t, func(t *testing.T) {
			l := newLan(t, 3)
			defer l.stopAll()
			l.bootAll()
			first, _ := l.await(5 * time.Second)
			time.Sleep(5 * time.Second)
			l.isolate(first.self, true)
			for first.answers() {
				time.Sleep(time.Millisecond)
			}
			_, took := l.await(2500 * time.Millisecond)
			t.Log("silent for", took)
			assert.Less(t, took, 400*time.Millisecond, "the others look when the vote lock ends, not at random")
			time.Sleep(2 * time.Second)
			l.isolate(first.self, false)
			assert.LessOrEqual(t, l.watch(5*time.Second), 100*time.Millisecond)
		})
	}
}

func TestNodeShutdownPassesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.bootAll()
		first, _ := l.await(5 * time.Second)
		time.Sleep(5 * time.Second)
		began := time.Now()
		first.stop()
		_, _ = l.await(300 * time.Millisecond)
		t.Log("stop and takeover", time.Since(began))
	})
}

func TestNodeUnfitHolderPassesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.bootAll()
		unfit := election.Fitness{Less: 255, Reason: "the health check fails"}
		first, _ := l.await(5 * time.Second)
		time.Sleep(5 * time.Second)
		first.fit(unfit)
		silent := l.watch(2 * time.Second)
		t.Log("moved, silent for", silent)
		assert.LessOrEqual(t, silent, 300*time.Millisecond)
		second, _ := l.await(time.Second)
		assert.NotEqual(t, first.self, second.self)
		for _, h := range l.hosts {
			h.fit(unfit)
			time.Sleep(3 * time.Second)
		}
		assert.Zero(t, l.watch(5*time.Second), "all unfit: nobody moves")
	})
}

func TestNodeHandoverSaysOnEveryNodeWhoAsked(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.bootAll()
		first, _ := l.await(5 * time.Second)
		time.Sleep(5 * time.Second)
		for _, h := range l.hosts {
			h.mu.Lock()
			h.decisions = nil
			h.mu.Unlock()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, first.elector.Handover(ctx, ""))
		second, _ := l.await(5 * time.Second)
		require.NotEqual(t, first, second)
		time.Sleep(time.Second)
		for _, h := range l.hosts {
			h.mu.Lock()
			require.NotEmpty(t, h.decisions, h.self)
			for _, d := range h.decisions {
				assert.Equal(t, first.self.String()+": uid 0 asked for a handover", d.Cause, "%s: %s", h.self, d.Reason)
			}
			h.mu.Unlock()
		}
	})
}

func TestNodeThatLeadsAndIsOutIsNoHolder(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.bootAll()
		for _, h := range l.hosts {
			h.fit(election.Fitness{Out: true, Reason: "somebody else has the address"})
		}
		time.Sleep(10 * time.Second)
		leaders := map[netip.Addr]int{}
		for _, h := range l.hosts {
			leaders[h.node.outlook().leader]++
			s := h.elector.Status()
			assert.False(t, s.Holder.IsValid(), "%v: %v", h.self, s.Holder)
			for _, m := range s.Members {
				assert.NotEqual(t, election.Active, m.State)
			}
			h.mu.Lock()
			for _, d := range h.decisions {
				assert.False(t, d.Holder.IsValid(), "%v", d)
			}
			h.mu.Unlock()
		}
		require.Len(t, leaders, 1, "all follow one leader")
		for _, h := range l.hosts {
			h.fit(election.Fitness{})
		}
		first, _ := l.await(time.Second)
		time.Sleep(l.heartbeat / 2)
		for _, h := range l.hosts {
			assert.Equal(t, first.self, h.elector.Status().Holder, "known to %v at once", h.self)
		}
	})
}

func TestNodeWipedDisksOneAfterTheOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		for i := range 12 { // at different moments between two rounds of gossip
			time.Sleep(time.Duration(i) * 130 * time.Millisecond)
			h := l.hosts[addr(i%3)]
			h.stop()
			h.disk = emptyDisk()
			h.boot()
			l.watch(10 * time.Second)
			assert.True(t, h.node.cluster.voice(), "the wiped node votes again")
			assert.Len(t, h.node.cluster.voters(), 3)
		}
		l.await(time.Second)
	})
}

// A node without its old store is sent the configuration that has its older self in it. It has to ask the leader then, whatever
// their addresses are, to be told that it is none of them.
func TestNodeThatIsNoMemberIsNotSettled(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		member := l.hosts[addr(2)].node
		require.True(t, member.gossip.settled())
		wiped := newNode(member.cfg) // which has heard and been sent the same
		wiped.cluster.library.Store(member.cluster.library.Load())
		wiped.gossip.heard = member.gossip.view().heard
		wiped.cluster.id = member.cluster.id
		require.True(t, wiped.gossip.settled())
		wiped.cluster.id = freshID(member.cluster.id)
		assert.False(t, wiped.gossip.settled())
	})
}

func TestNodeMembersComeAndGo(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 1)
		defer l.stopAll()
		l.hosts[addr(0)].boot()
		l.await(5 * time.Second)
		var all []netip.Addr
		for i := range 5 {
			all = append(all, addr(i))
		}
		var silent time.Duration
		for i := 1; i < 5; i++ {
			l.add(i, all).boot()
			silent += l.watch(4 * time.Second)
			assert.Len(t, l.hosts[addr(0)].node.cluster.voters(), i, "nobody comes in uninvited")
			require.NoError(t, l.hosts[addr(0)].node.Change(t.Context(), OpAdd, addr(i)))
			silent += l.watch(6 * time.Second)
			assert.True(t, l.hosts[addr(i)].node.cluster.voice())
		}
		for i := range 4 {
			require.NoError(t, l.hosts[addr(4)].node.Change(t.Context(), OpRemove, addr(i)))
			silent += l.watch(3 * time.Second)
			l.hosts[addr(i)].stop()
			silent += l.watch(time.Second)
		}
		t.Log("silent for", silent)
		assert.Less(t, silent, 2*time.Second)
		time.Sleep(forgetAfter + 5*time.Second)
		list := l.hosts[addr(4)].node.Members()
		require.NotEmpty(t, list)
		assert.Equal(t, addr(4), list[0].Address)
		assert.False(t, slices.ContainsFunc(list, func(m Member) bool { return m.Address == addr(0) }), "who has gone is forgotten")
		holder, _ := l.await(time.Second)
		assert.Equal(t, addr(4), holder.self)
	})
}

func TestNodeWitnessNeverHolds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		for i := range 3 {
			l.hosts[addr(i)].cfg.Witnesses = []netip.Addr{addr(2)}
			l.hosts[addr(i)].boot()
		}
		for range 3 {
			h, _ := l.await(10 * time.Second)
			assert.NotEqual(t, addr(2), h.self)
			time.Sleep(3 * time.Second)
			l.isolate(h.self, true)
			l.watch(5 * time.Second)
			l.isolate(h.self, false)
			l.watch(3 * time.Second)
		}
	})
}

func TestNodeThatCannotBindLeavesItToAnother(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.hosts[addr(0)].bindErr = errors.New("no permission")
		l.hosts[addr(1)].bindErr = errors.New("no permission")
		l.bootAll()
		h, _ := l.await(15 * time.Second)
		assert.Equal(t, addr(2), h.self)
	})
}

// The old holder's word is not why the new one cannot bind the address.
func TestNodeThatCannotBindAfterAHandoverSaysSo(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		old := l.answering()[0]
		next := l.hosts[addr(0)]
		if next == old {
			next = l.hosts[addr(1)]
		}
		next.mu.Lock()
		next.bindErr, next.decisions = errors.New("no permission"), nil
		next.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, old.elector.Handover(ctx, next.self.String()))
		time.Sleep(5 * time.Second)
		next.mu.Lock()
		defer next.mu.Unlock()
		i := slices.IndexFunc(next.decisions, func(d election.Decision) bool { return d.Role == election.Serve })
		require.GreaterOrEqual(t, i, 0)
		refused := next.decisions[i+1]
		assert.Contains(t, refused.Reason, "no permission")
		assert.Equal(t, code.BindRefused, refused.Code, refused.Cause)
		assert.Empty(t, refused.AskedBy)
	})
}

// The follower that has acknowledged is restarted at once, while the holder stands still and the third, which has not heard
// it for long, asks for votes all the time: nobody may win before the holder's lease is over.
func TestNodeRestartedFollowerKeepsItsVoteLock(t *testing.T) {
	for round := range 12 {
		bubble.Test(t, func(t *testing.T) {
			l := newLan(t, 3)
			defer l.stopAll()
			l.bootAll()
			holder, _ := l.await(5 * time.Second)
			var others []*host
			for i := range 3 {
				if addr(i) != holder.self {
					others = append(others, l.hosts[addr(i)])
				}
			}
			l.watch(3 * time.Second)
			l.setCut(holder.self, others[1].self, true)
			l.setCut(others[1].self, holder.self, true)
			l.watch(2*time.Second + time.Duration(round)*41*time.Millisecond)
			holder.freeze(true)
			others[0].stop()
			others[0].boot()
			l.watch(3 * time.Second)
		})
	}
}
