package raft

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestNodeRecoversWithoutAMajority(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		last := l.hosts[addr(2)]
		assert.ErrorContains(t, last.node.PrepareRecovery(), "the cluster has a majority")
		for i := range 2 {
			l.isolate(addr(i), true)
			l.hosts[addr(i)].stop()
		}
		time.Sleep(5 * time.Second)
		require.NoError(t, last.node.PrepareRecovery())
		last.stop()
		last.boot()
		h, _ := l.await(5 * time.Second)
		assert.Equal(t, last, h)
		assert.Len(t, last.node.cluster.voters(), 1)
	})
}

// lastOf is the last node of a cluster that lives. An operator has told it to begin anew with itself alone, and it ends
// before it could.
func lastOf(l *lan) *host {
	l.settle()
	others := len(l.hosts) - 1
	last := l.hosts[addr(others)]
	for i := range others {
		l.hosts[addr(i)].crash()
	}
	time.Sleep(5 * time.Second)
	require.NoError(l.t, last.node.PrepareRecovery())
	last.crash()
	return last
}

// The others may be back long before this node begins: it is one of them then.
func TestNodeDoesNotRecoverBesideAMajority(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		last := lastOf(l)
		for i := range 2 {
			l.hosts[addr(i)].boot()
		}
		l.await(5 * time.Second)
		last.boot()
		l.watch(5 * time.Second)
		assert.Len(t, last.node.cluster.voters(), 3)
		assert.True(t, last.node.gossip.settled())
		l.hosts[addr(0)].crash()
		l.hosts[addr(1)].crash()
		last.stop()
		last.boot()
		l.watch(5 * time.Second)
		assert.Len(t, last.node.cluster.voters(), 3, "what was asked is forgotten")
	})
}

// A majority that is back may have no leader, as it is one only with this node.
func TestNodeDoesNotRecoverBesideAMajorityThatNeedsIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 5)
		defer l.stopAll()
		last := lastOf(l)
		for i := range 2 {
			l.hosts[addr(i)].boot()
		}
		l.watch(5 * time.Second)
		require.Empty(t, l.answering(), "two of five have no leader")
		last.boot()
		l.watch(5 * time.Second)
		for _, h := range []*host{l.hosts[addr(0)], l.hosts[addr(1)], last} {
			assert.Len(t, h.node.cluster.voters(), 5, "as %s has it", h.self)
		}
		assert.Len(t, l.answering(), 1)
	})
}

// The disk that is full takes the snapshot of a recovery, say, and not what comes after it. The node tries again, as long as nobody else leads.
func TestNodeDoesNotFinishARecoveryBesideALeader(t *testing.T) {
	for _, led := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			l := newLan(t, 3)
			defer l.stopAll()
			last := lastOf(l)
			full := &fullDisk{InmemStore: last.disk.stable.(*raft.InmemStore)}
			last.disk.logs, last.disk.stable = full, full
			full.full.Store(true)
			last.boot()
			time.Sleep(5 * time.Second)
			require.False(t, last.node.cluster.started())
			if led {
				l.hosts[addr(0)].boot()
				l.hosts[addr(1)].boot()
				l.await(5 * time.Second)
			}
			full.full.Store(false)
			l.watch(5 * time.Second)
			if led {
				assert.False(t, last.node.cluster.started())
				assert.Contains(t, last.node.bootstrap.why(), "the recovery was not finished")
				return
			}
			assert.Equal(t, []raft.ServerID{raft.ServerID(last.self.String())}, last.node.cluster.voters())
			assert.Len(t, l.answering(), 1)
		})
	}
}

// Two that are left of five are both told to begin anew, one after the other. The second one hears the first lead, and is no cluster of its own.
func TestNodeDoesNotRecoverBesideOneThatHas(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 5)
		defer l.stopAll()
		l.settle()
		for i := range 3 {
			l.hosts[addr(i)].crash()
		}
		time.Sleep(5 * time.Second)
		first, second := l.hosts[addr(3)], l.hosts[addr(4)]
		for _, h := range []*host{first, second} {
			require.NoError(t, h.node.PrepareRecovery())
		}
		first.stop()
		second.stop()
		first.boot()
		l.await(5 * time.Second)
		second.boot()
		l.watch(10 * time.Second)
		assert.Len(t, second.node.cluster.voters(), 5, "it is not recovered")
		require.NoError(t, first.node.Change(t.Context(), OpAdd, second.self))
		l.watch(10 * time.Second)
		for _, h := range []*host{first, second} {
			assert.Equal(t, []raft.ServerID{"10.77.0.14", "10.77.0.15"}, h.node.cluster.voters())
		}
	})
}
