package raft

import (
	"bytes"
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestChoose(t *testing.T) {
	peers := []netip.Addr{addr(0), addr(1), addr(2)}
	same := message{List: digest([]netip.Addr{addr(2), addr(0), addr(1)})}
	for _, c := range []struct {
		name   string
		peers  []netip.Addr
		others map[netip.Addr]message
		want   start
		why    string
	}{
		{"alone in the list", peers[:1], nil, found, ""},
		{"alone of three", peers, nil, waiting, "1 of 3 raft.peers present (this node), want 2 to begin"},
		{"two of three", peers, map[netip.Addr]message{addr(1): same}, found, ""},
		{"one of two", peers[:2], nil, waiting, "1 of 2 raft.peers present (this node), want 2 to begin"},
		{"another list", peers, map[netip.Addr]message{addr(1): {List: "x"}}, waiting, "10.77.0.12 has another list under raft.peers, or began with another one, want the same on all nodes"},
		{"not in the list", peers[1:], map[netip.Addr]message{addr(1): {List: digest(peers[1:])}}, waiting, "10.77.0.11, the address of this node when it started, is not under raft.peers"},
		{"a cluster exists", peers, map[netip.Addr]message{addr(1): same, addr(2): {Formed: true}}, rejoin, ""},
		{"a cluster exists of others than those in the list", peers[:1], map[netip.Addr]message{addr(2): {Formed: true}}, rejoin, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, why := choose(addr(0), c.peers, c.others, time.Second, time.Second)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.why, why)
		})
	}
	got, why := choose(addr(0), peers[:1], nil, time.Second-1, time.Second)
	assert.Equal(t, waiting, got)
	assert.Equal(t, "listening for a cluster that exists", why)
}

// The first of all has itself alone in its list. When its disk is lost the list is not where it belongs to.
func TestNodeFounderWithoutItsDiskFoundsNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 1)
		defer l.stopAll()
		founder := l.hosts[addr(0)]
		founder.boot()
		l.await(5 * time.Second)
		for i := 1; i < 3; i++ {
			l.add(i, []netip.Addr{addr(0), addr(1), addr(2)}).boot()
			require.NoError(t, founder.node.Change(t.Context(), OpAdd, addr(i)))
			l.watch(5 * time.Second)
		}
		founder.crash()
		founder.disk = emptyDisk()
		founder.boot()
		l.watch(15 * time.Second)
		for i := range 3 {
			assert.Len(t, l.hosts[addr(i)].node.cluster.voters(), 3)
			assert.True(t, l.hosts[addr(i)].node.cluster.voice())
		}
	})
}

// All lose their power, and one its disk. It hears the first of the others as soon as that runs, before it is in the cluster again: what
// the lost disk had voted, nobody knows, so that it must not be the same member.
func TestNodeWithoutItsDiskDoesNotFoundTheClusterOfWhoComesBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		for _, h := range l.hosts {
			h.crash()
		}
		wiped := l.hosts[addr(2)]
		wiped.disk = emptyDisk()
		wiped.boot()
		time.Sleep(3 * time.Second)
		require.False(t, wiped.node.cluster.started())
		l.hosts[addr(0)].boot()
		time.Sleep(3 * time.Second)
		require.True(t, wiped.node.cluster.started())
		assert.Contains(t, string(wiped.node.cluster.self()), "#", "it is another member")
		assert.Empty(t, l.answering(), "nobody has two votes")
		l.hosts[addr(1)].boot()
		l.await(5 * time.Second)
		time.Sleep(10 * time.Second)
		assert.True(t, wiped.node.cluster.voice(), "it is let in by a majority")
	})
}

// Two begin a cluster, and lose their power before anybody is elected: they begin again, and a third one beside them.
func TestStoreThatWasOnlyBegunIsNotFormed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		for i := range 2 {
			d := l.hosts[addr(i)].disk
			assert.False(t, d.formed())
			id := raft.ServerID(addr(i).String())
			must(d.setID(id))
			_, wire := raft.NewInmemTransport("")
			must(raft.BootstrapCluster(l.hosts[addr(i)].cfg.library(id), d.logs, d.stable, d.snapshots, wire, firstMembers(l.hosts[addr(i)].cfg.Peers)))
			assert.False(t, d.formed())
		}
		l.hosts[addr(0)].boot()
		time.Sleep(5 * time.Second)
		assert.False(t, l.hosts[addr(0)].disk.formed(), "it has stood alone")
		l.hosts[addr(2)].boot()
		time.Sleep(5 * time.Second)
		l.await(5 * time.Second)
		assert.Equal(t, addr(2).String(), string(l.hosts[addr(2)].node.cluster.self()))
		assert.True(t, l.hosts[addr(2)].disk.formed())
	})
}

// Nodes may wait for others that do not come, by a list that is wrong. They begin by the list of a reload, and with its
// members alone.
func TestNodesBeginByTheNewestList(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 5)
		defer l.stopAll()
		for i := range 2 {
			l.hosts[addr(i)].boot()
		}
		l.watch(5 * time.Second)
		for i := range 2 {
			n := l.hosts[addr(i)].node
			assert.Contains(t, n.bootstrap.why(), "2 of 5 raft.peers present")
			assert.False(t, n.SetPeers([]netip.Addr{addr(0), addr(1)}), "nothing has begun")
		}
		l.await(5 * time.Second)
		for i := range 2 {
			n := l.hosts[addr(i)].node
			assert.ElementsMatch(t, []raft.ServerID{"10.77.0.11", "10.77.0.12"}, n.cluster.voters())
			assert.True(t, n.SetPeers(nil), "from here on the list counts for nothing")
		}
	})
}

// locked looks at each write of a store whether a lock is held.
type locked struct {
	raft.StableStore
	raft.LogStore
	t    *testing.T
	lock func() *sync.Mutex
	of   func(*raft.Log) bool // which entries it is held for
	seen atomic.Int64         // that were looked at
}

func (s *locked) held() {
	s.seen.Add(1)
	if lock := s.lock(); lock.TryLock() {
		lock.Unlock()
		s.t.Error("it is written without the lock")
	}
}

func (s *locked) Set(key, value []byte) error {
	if bytes.Equal(key, keyID) {
		s.held()
	}
	return s.StableStore.Set(key, value)
}

func (s *locked) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *locked) StoreLogs(list []*raft.Log) error {
	if slices.ContainsFunc(list, s.of) {
		s.held()
	}
	return s.LogStore.StoreLogs(list)
}

// A node that begins chooses by a list and founds with the same list, whatever a reload brings meanwhile.
func TestNodeBeginsWithOneList(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 1)
		defer l.stopAll()
		h := l.hosts[addr(0)]
		looked := &locked{StableStore: h.disk.stable, LogStore: h.disk.logs, t: t, of: func(*raft.Log) bool { return true }}
		h.disk.stable, h.disk.logs = looked, looked
		n := newNode(h.cfg)
		n.store, looked.lock = h.disk.store, func() *sync.Mutex { return &n.bootstrap.beginning }
		_, n.wire = raft.NewInmemTransport("")
		n.bootstrap.begin = func(context.Context, raft.ServerID) error {
			looked.held()
			return nil
		}
		time.Sleep(time.Minute)
		longer := []netip.Addr{addr(0), addr(1)}
		n.SetPeers(longer)
		assert.Equal(t, digest(longer), n.gossip.hello().List)
		n.SetPeers(h.cfg.Peers)
		n.bootstrap.try(t.Context())
		assert.Empty(t, n.bootstrap.why())
		assert.EqualValues(t, 3, looked.seen.Load(), "the identity, the members, and the start of the library")
		n.SetPeers(longer)
		assert.Equal(t, digest(h.cfg.Peers), n.gossip.hello().List, "it says the list that it has begun with")
	})
}

// A node that has begun in an earlier run says so, as a list then changes its members one by one. Nodes on the list may
// connect.
func TestNodeThatHasBegunSaysSoToAList(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		n := newNode(l.hosts[addr(0)].cfg)
		n.store = l.hosts[addr(0)].disk.store
		longer := []netip.Addr{addr(0), addr(1), addr(5)}
		assert.False(t, n.SetPeers(longer))
		assert.True(t, n.isMember(addr(5)), "who is on the new list may connect")
		assert.False(t, n.isMember(addr(2)), "who was on the list may not")
		l.hosts[addr(0)].begin()
		assert.True(t, n.SetPeers(longer), "before it has started")
		n.store = unreadable()
		assert.True(t, n.SetPeers(longer), "nobody knows")
	})
}
