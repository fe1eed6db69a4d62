package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// A witness in another network has no place for an instance, so nothing but keepTrying opens its node: at the start, and each time after nothing was
// elected by Raft.
func TestWitnessIsBackAfterNothingWasElectedByRaft(t *testing.T) {
	own := netip.PrefixFrom(onLoopback(1), 8)
	free, err := net.Listen("tcp", netip.AddrPortFrom(own.Addr(), 0).String())
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).AddrPort().Port()
	require.NoError(t, free.Close())
	with := &config.Config{
		VIPs: []config.VIP{{Name: "a", Election: config.ElectionRaft}}, Port: port, StateDir: t.TempDir(),
		Raft: config.Raft{Peers: []netip.Addr{own.Addr()}, Witnesses: []netip.Addr{own.Addr()}, HeartbeatTimeout: time.Second},
	}
	without := *with
	without.VIPs = nil
	log := slog.New(slog.DiscardHandler)
	r := newRaftNode(&seen{links: hostLinks{own: ownLinks{{Addresses: []link.Address{{Prefix: own}}}}}}, "v1", log)
	identify, err := r.prepareIdentity(secrets{keys: []config.Secret{{ID: 1, Bytes: make([]byte, 32)}}})
	require.NoError(t, err)
	r.use(&without, identify)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.keepTrying(ctx) }()
	defer func() { cancel(); <-done; r.close() }()
	for range 2 {
		r.use(with, func() {})
		require.Eventually(t, func() bool { return r.current() != nil }, 5*time.Second, time.Millisecond)
		r.use(&without, func() {})
		r.closeIdle()
		assert.Nil(t, r.current())
	}
}

// clustered are the first so many nodes of a cluster at addresses of the loopback interface, each with its configuration.
func clustered(t *testing.T, peers []netip.Addr, run int) (nodes []*raftNode, told []*config.Config) {
	t.Helper()
	free, err := net.Listen("tcp", netip.AddrPortFrom(peers[0], 0).String())
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).AddrPort().Port()
	require.NoError(t, free.Close())
	for _, a := range peers[:run] {
		own := netip.PrefixFrom(a, 8)
		here := &seen{links: hostLinks{own: ownLinks{{Addresses: []link.Address{{Prefix: own}}}}}}
		r := newRaftNode(here, "v1", slog.New(slog.DiscardHandler))
		identify, err := r.prepareIdentity(secrets{keys: []config.Secret{{ID: 1, Bytes: make([]byte, 32)}}})
		require.NoError(t, err)
		cfg := &config.Config{
			VIPs: []config.VIP{{Name: "a", Election: config.ElectionRaft}}, Port: port, StateDir: t.TempDir(),
			Raft: config.Raft{Peers: peers, HeartbeatTimeout: 250 * time.Millisecond},
		}
		r.use(cfg, identify)
		_, err = r.open()
		require.NoError(t, err)
		t.Cleanup(r.close)
		nodes, told = append(nodes, r), append(told, cfg)
	}
	return nodes, told
}

// onLoopback are addresses of this process: a port that is free at one of them is free at all, whatever runs beside.
func onLoopback(n byte) netip.Addr {
	pid := os.Getpid()
	return netip.AddrFrom4([4]byte{127, byte(pid >> 8), byte(pid), n})
}

// voters are the members that have a vote, as the node knows them.
func (r *raftNode) voters() (out []netip.Addr) {
	for _, m := range r.current().Members() {
		if m.Voter {
			out = append(out, m.Address)
		}
	}
	return out
}

// A node whose file elects nothing with Raft any more leaves. Its list, which has gone too, says nothing about the others.
func TestNodeThatLeavesRaftTakesNobodyOutOfTheCluster(t *testing.T) {
	peers := []netip.Addr{onLoopback(1), onLoopback(2), onLoopback(3)}
	nodes, told := clustered(t, peers, 3)
	leader := -1
	require.Eventually(t, func() bool {
		q := nodes[0].current().Quorum()
		leader = slices.Index(peers, q.Leader)
		return leader >= 0 && q.Voters == 3
	}, 20*time.Second, 10*time.Millisecond)
	for _, vips := range [][]config.VIP{told[leader].VIPs, nil} { // an entry that becomes external is served for a while
		without := *told[leader]
		without.VIPs, without.Raft = vips, config.Raft{HeartbeatTimeout: without.Raft.HeartbeatTimeout}
		nodes[leader].use(&without, func() {})
		time.Sleep(time.Second) // for whatever it would do to the others
		assert.ElementsMatch(t, peers, nodes[(leader+1)%3].voters())
	}
	nodes[leader].closeIdle()
	require.Nil(t, nodes[leader].current())
	other := nodes[(leader+1)%3]
	require.Eventually(t, func() bool {
		q := other.current().Quorum()
		return q.Leader.IsValid() && q.Leader != peers[leader]
	}, 20*time.Second, 10*time.Millisecond)
	assert.ElementsMatch(t, peers, other.voters())
}

// Nodes that wait to begin a cluster, by a list that is wrong, begin by the right one, and nothing has to be started anew.
func TestClusterBeginsByTheListOfAReload(t *testing.T) {
	wrong := []netip.Addr{onLoopback(1), onLoopback(2), onLoopback(3), onLoopback(4), onLoopback(5)}
	nodes, told := clustered(t, wrong, 2)
	time.Sleep(2 * time.Second) // a cluster of two would have begun
	for i, r := range nodes {
		require.Zero(t, r.current().Quorum().Voters)
		next := *told[i]
		next.Raft.Peers = wrong[:2]
		r.use(&next, func() {})
	}
	require.Eventually(t, func() bool {
		q := nodes[0].current().Quorum()
		return q.Leader.IsValid() && q.Voters == 2
	}, 20*time.Second, 10*time.Millisecond)
	assert.ElementsMatch(t, wrong[:2], nodes[1].voters())
}

// A removal that would leave no majority is refused. It is done once the others are back.
func TestListIsFollowedOnceThatIsPossible(t *testing.T) {
	peers := []netip.Addr{onLoopback(1), onLoopback(2), onLoopback(3)}
	nodes, told := clustered(t, peers, 3)
	nodes[0].again = 50 * time.Millisecond
	heard := func(n int) func() bool {
		return func() bool {
			q := nodes[0].current().Quorum()
			return q.Leader.IsValid() && q.Leader != peers[2] && q.Voters == 3 && q.VotersHeard == n
		}
	}
	require.Eventually(t, func() bool { return len(nodes[0].voters()) == 3 }, 20*time.Second, 10*time.Millisecond)
	nodes[2].close()
	require.Eventually(t, heard(2), 20*time.Second, 10*time.Millisecond)
	next := *told[0]
	next.Raft.Peers = []netip.Addr{peers[0], peers[2]}
	nodes[0].use(&next, func() {})
	time.Sleep(2 * time.Second)
	require.ElementsMatch(t, peers, nodes[0].voters())
	_, err := nodes[2].open()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return slices.Equal(nodes[0].voters(), next.Raft.Peers) }, 20*time.Second, 10*time.Millisecond)
}

// Without a majority a list cannot be followed. Neither a reload nor a look at the status waits for that.
func TestListIsFollowedBesideWhoReloads(t *testing.T) {
	peers := []netip.Addr{onLoopback(1), onLoopback(2)}
	nodes, told := clustered(t, peers, 2)
	require.Eventually(t, func() bool { return len(nodes[0].voters()) == 2 && len(nodes[1].voters()) == 2 }, 20*time.Second, 10*time.Millisecond)
	nodes[1].close()
	require.Eventually(t, func() bool { return !nodes[0].current().Quorum().Leader.IsValid() }, 20*time.Second, 10*time.Millisecond)
	began := time.Now()
	for n := byte(3); n < 6; n++ {
		next := *told[0]
		next.Raft.Peers = []netip.Addr{onLoopback(1), onLoopback(2), onLoopback(n)}
		nodes[0].use(&next, func() {})
		assert.NotNil(t, nodes[0].current())
	}
	life, end := context.WithCancel(t.Context())
	end()
	ending := &raftNode{life: life, log: nodes[0].log}
	is := ending.changeMembers(t.Context(), nodes[0].current(), peers, peers[:1], map[netip.Addr]string{})
	assert.Equal(t, peers, is, "the end of the process does not wait for a majority either")
	nodes[0].close()
	assert.Less(t, time.Since(began), memberTime/2)
}
