package raft

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// chosen waits for the next change of a leader that makes none by itself, and wants it to be that step.
func (l *lan) chosen(n *Node, step string) change {
	l.t.Helper()
	for range 10000 {
		if is, c := n.membership.nextChange(n.cluster.leading()); c != nil {
			require.True(l.t, strings.HasPrefix(is, step), is)
			return c
		}
		l.watch(time.Millisecond)
	}
	require.FailNow(l.t, "no "+step)
	return nil
}

// A change may wait between its choice and its turn. When an operator has removed the member meanwhile, it must not be a member again.
func TestMemberRemovedMeanwhileStaysOut(t *testing.T) {
	for _, voting := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			l := newLan(t, 1)
			defer l.stopAll()
			founder := l.hosts[addr(0)]
			founder.boot()
			l.await(5 * time.Second)
			n := founder.node
			n.membership.changing.Store(true) // it makes no change but those that follow
			second := l.add(1, founder.cfg.Peers)
			second.boot()
			require.NoError(t, n.Change(t.Context(), OpAdd, second.self))
			run := l.chosen(n, "entry of")
			if voting {
				done, err := run()
				require.NoError(t, err)
				require.True(t, done)
				run = l.chosen(n, "a vote for")
			}
			require.NoError(t, n.Change(t.Context(), OpRemove, second.self))
			done, err := run()
			require.NoError(t, err)
			assert.False(t, done)
			n.membership.changing.Store(false)
			l.watch(5 * time.Second)
			assert.Len(t, n.cluster.servers(), 1)
		})
	}
}

// The request to join of a node that may not is forgotten: the leader would look at it again and again.
func TestRequestToJoinOfWhoIsNotInvitedIsForgotten(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 1)
		defer l.stopAll()
		l.settle()
		n := l.hosts[addr(0)].node
		m := &n.membership
		m.mu.Lock()
		m.joins[addr(7)] = joinRequest{id: "x", term: n.cluster.leading().CurrentTerm()}
		m.mu.Unlock()
		l.watch(3 * time.Second)
		assert.False(t, n.cluster.knows("x"))
		m.mu.Lock()
		defer m.mu.Unlock()
		assert.Empty(t, m.joins)
	})
}

// A request to join counts for the leader of its term: the node may have been in, and removed, since then.
func TestRequestToJoinCountsInItsTerm(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 1)
		defer l.stopAll()
		l.settle()
		n := l.hosts[addr(0)].node
		m, r := &n.membership, n.cluster.leading()
		m.changing.Store(true) // it makes no change by itself
		for before, want := range []string{"entry of " + addr(7).String(), ""} {
			m.mu.Lock()
			m.joins[addr(7)] = joinRequest{id: "x", term: r.CurrentTerm() - uint64(before)}
			m.mu.Unlock()
			step, _ := m.nextJoin(r, n.cluster.servers())
			assert.Equal(t, want, step)
		}
		assert.Empty(t, m.joins)
	})
}

// An operator must not lose the majority by a removal: half of those that are left are none.
func TestRemovalThatWouldLeaveHalfIsRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 5)
		defer l.stopAll()
		l.settle()
		leader := l.answering()[0]
		var others []*host
		for i := range 5 {
			if h := l.hosts[addr(i)]; h != leader {
				others = append(others, h)
			}
		}
		others[0].crash()
		others[1].crash()
		l.watch(5 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		err := leader.node.Change(ctx, OpRemove, others[2].self)
		require.ErrorContains(t, err, "4 voters would be left, of which 2 live: not a majority")
		assert.NoError(t, leader.node.Change(ctx, OpRemove, others[0].self), "a dead one may go")
		l.watch(5 * time.Second)
		assert.Len(t, l.answering(), 1)
	})
}

// A voter that is removed as dead is invited, to come back. One that an operator has removed meanwhile is not.
func TestVoidingOfWhoIsRemovedMeanwhileInvitesNobody(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		n := l.answering()[0].node
		m, r := &n.membership, n.cluster.leading()
		s := other(n)
		void := m.voiding(r, s)
		require.NoError(t, n.Change(t.Context(), OpRemove, addressOf(s.Address)))
		done, err := void()
		require.NoError(t, err)
		assert.False(t, done)
		assert.False(t, m.roster.has(addressOf(s.Address)))
	})
}

// other is a member that is not this node.
func other(n *Node) raft.Server {
	for _, s := range n.cluster.servers() {
		if s.ID != n.cluster.self() {
			return s
		}
	}
	return raft.Server{}
}

// An operator may remove a node that the leader is about to let in, to make a voter, or to remove as dead. One change
// comes after the other: each entry that changes members or invitations is written under the same lock.
func TestMembershipChangesUnderOneLock(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		looked := map[*host]*locked{}
		for _, h := range l.hosts {
			h.cfg.RemoveDead = 10 * time.Second
			s := &locked{LogStore: h.disk.logs, t: t}
			s.lock = func() *sync.Mutex { return &h.node.membership.inviting }
			s.of = func(e *raft.Log) bool {
				return e.Type != raft.LogNoop && e.Type != raft.LogBarrier && h.node.cluster.leading() != nil
			}
			h.disk.logs, looked[h] = s, s
		}
		for _, h := range l.hosts {
			h.boot()
		}
		l.await(5 * time.Second)
		l.watch(2 * time.Second)
		leader := l.answering()[0]
		seen := func() int64 { return looked[leader].seen.Swap(0) }
		seen()
		fourth := l.add(3, leader.cfg.Peers)
		fourth.boot()
		require.NoError(t, leader.node.Change(t.Context(), OpAdd, fourth.self))
		l.watch(5 * time.Second)
		require.Len(t, leader.node.cluster.voters(), 4)
		assert.EqualValues(t, 3, seen(), "the invitation, the entry and the vote")
		fourth.crash()
		l.watch(15 * time.Second)
		require.Len(t, leader.node.cluster.voters(), 3)
		assert.EqualValues(t, 2, seen(), "another invitation, and the removal of a dead one")
		require.NoError(t, leader.node.Change(t.Context(), OpRemove, addressOf(other(leader.node).Address)))
		assert.EqualValues(t, 2, seen(), "the end of an invitation, and the removal")
	})
}
