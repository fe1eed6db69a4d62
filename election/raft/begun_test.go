package raft

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// begin has the store of a host begin a cluster of the list in its file, as if the process had ended then.
func (h *host) begin() {
	id := raft.ServerID(h.self.String())
	must(h.disk.setID(id))
	_, wire := raft.NewInmemTransport("")
	must(raft.BootstrapCluster(h.cfg.library(id), h.disk.logs, h.disk.stable, h.disk.snapshots, wire, firstMembers(h.cfg.Peers)))
}

// Two nodes begin a cluster of three, and do not hear each other. The list is corrected to five then, by a reload or a restart, and the other three
// come up. They must not found a cluster of five: the first two could elect a leader of three beside it.
func TestNodeBegunWithAnotherListKeepsTheOthersFromFounding(t *testing.T) {
	for _, restart := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			l := newLan(t, 5)
			defer l.stopAll()
			five := l.hosts[addr(0)].cfg.Peers
			l.setCut(addr(0), addr(1), true)
			l.setCut(addr(1), addr(0), true)
			for i := range 2 {
				h := l.hosts[addr(i)]
				h.cfg.Peers = []netip.Addr{addr(0), addr(1), addr(2)}
				h.begin()
				h.boot()
			}
			l.watch(3 * time.Second)
			for i := range 2 {
				h := l.hosts[addr(i)]
				require.EqualValues(t, 1, h.node.cluster.library.Load().CurrentTerm(), "nobody is elected")
				if restart {
					h.stop()
					h.cfg.Peers = five
					h.boot()
					continue
				}
				require.True(t, h.node.SetPeers(five))
			}
			l.watch(3 * time.Second)
			for i := 2; i < 5; i++ {
				l.hosts[addr(i)].boot()
			}
			l.watch(5 * time.Second)
			for i := 2; i < 5; i++ {
				assert.Contains(t, l.hosts[addr(i)].node.bootstrap.why(), "began with another one")
			}
			l.heal()
			l.watch(3 * time.Second)
			for i := range 2 {
				for j := 2; j < 5; j++ {
					l.setCut(addr(i), addr(j), true)
					l.setCut(addr(j), addr(i), true)
				}
			}
			l.watch(10 * time.Second)
			l.heal()
			l.await(5 * time.Second)
			l.watch(10 * time.Second)
			for i := range 2 {
				for j := 3; j < 5; j++ { // as the daemon does after a reload
					require.NoError(t, l.hosts[addr(i)].node.Change(t.Context(), OpAdd, addr(j)))
				}
			}
			l.watch(10 * time.Second)
			for _, h := range l.hosts {
				assert.Len(t, h.node.cluster.voters(), 5, "as %s has it", h.self)
			}
		})
	}
}

func TestStoreBegunWith(t *testing.T) {
	disk := emptyDisk()
	h := &host{self: addr(0), disk: disk, cfg: Config{Self: addr(0), Peers: []netip.Addr{addr(1), addr(0)}, Heartbeat: time.Second, Log: testLog(addr(0))}}
	assert.Empty(t, disk.begunWith())
	h.begin()
	assert.Empty(t, disk.begunWith(), "it is read once")
	disk.rewritten()
	assert.Equal(t, digest([]netip.Addr{addr(0), addr(1)}), disk.begunWith())
}

// notRead is a disk that reads nothing.
type notRead struct {
	raft.StableStore
	raft.LogStore
}

var errRead = errors.New("input/output error")

func (notRead) GetUint64([]byte) (uint64, error) { return 0, errRead }
func (notRead) FirstIndex() (uint64, error)      { return 0, errRead }
func (notRead) LastIndex() (uint64, error)       { return 0, errRead }

func unreadable() *store {
	return &store{logs: notRead{}, stable: notRead{}, snapshots: raft.NewInmemSnapshotStore()}
}

// A store that cannot be read may know of a cluster. Nobody is to found another one beside it.
func TestStoreThatCannotBeReadKeepsOthersFromFounding(t *testing.T) {
	assert.True(t, unreadable().formed())
	peers := []netip.Addr{addr(0), addr(1)}
	begun := unreadable().begunWith()
	require.NotEmpty(t, begun)
	how, why := choose(addr(0), peers, map[netip.Addr]message{addr(1): {List: begun}}, time.Minute, time.Second)
	assert.Equal(t, waiting, how, why)
}
