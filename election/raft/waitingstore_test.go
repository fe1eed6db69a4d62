package raft

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
)

var errFull = errors.New("no space left on device")

// fullDisk refuses every write while it is full.
type fullDisk struct {
	*raft.InmemStore
	full    atomic.Bool
	refused atomic.Int64
}

func (d *fullDisk) write(do func() error) error {
	if d.full.Load() {
		d.refused.Add(1)
		return errFull
	}
	return do()
}

func (d *fullDisk) SetUint64(key []byte, value uint64) error {
	return d.write(func() error { return d.InmemStore.SetUint64(key, value) })
}

func (d *fullDisk) Set(key, value []byte) error {
	return d.write(func() error { return d.InmemStore.Set(key, value) })
}

func (d *fullDisk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

func (d *fullDisk) StoreLogs(list []*raft.Log) error {
	return d.write(func() error { return d.InmemStore.StoreLogs(list) })
}

func (d *fullDisk) DeleteRange(first, last uint64) error {
	return d.write(func() error { return d.InmemStore.DeleteRange(first, last) })
}

// fill gives a host a disk that can be full.
func (h *host) fill() *fullDisk {
	d := &fullDisk{InmemStore: raft.NewInmemStore()}
	h.disk.logs, h.disk.stable = d, d
	return d
}

// TestNodeWaitsForAFullDisk: a term that the disk does not take ends no process. The node gives no vote meanwhile, ends
// when it is told to, and votes when the disk takes something again.
func TestNodeWaitsForAFullDisk(t *testing.T) {
	for name, ends := range map[string]bool{"until it has room": false, "until it ends": true} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLan(t, 3)
				defer l.stopAll()
				disks := map[*host]*fullDisk{}
				for _, h := range l.hosts {
					disks[h] = h.fill()
				}
				l.settle()
				first, _ := l.await(time.Second)
				disks[first].full.Store(true)
				assert.LessOrEqual(t, l.watch(5*time.Second), 100*time.Millisecond, "a holder needs no disk")
				disks[first].full.Store(false)

				var filled *host
				for _, h := range l.hosts {
					if h != first {
						filled = h
					}
				}
				disks[filled].full.Store(true)
				l.isolate(first.self, true)
				l.watch(10 * time.Second)
				assert.Empty(t, l.answering(), "its vote is missing")
				require.NotZero(t, disks[filled].refused.Load(), "somebody stands")
				status := filled.elector.Status()
				assert.Equal(t, election.Backup, status.State)
				assert.Equal(t, "this node knows of no leader while it waits for its disk: "+errFull.Error(), status.Blocked)

				assert.False(t, filled.node.gossip.hello().Seeded, "leadership is passed to nobody who waits")

				if ends {
					began := time.Now()
					filled.stop()
					assert.Less(t, time.Since(began), 4*time.Second)
					disks[filled].full.Store(false)
					filled.boot()
				} else {
					disks[filled].full.Store(false)
				}
				l.await(5 * time.Second)
				assert.Empty(t, filled.node.disk.why())
				l.isolate(first.self, false)
				l.watch(3 * time.Second)
				assert.Len(t, l.answering(), 1)
			})
		})
	}
}

// TestWaitingStoreKeepsAnEndThatItHasCutOff: the library goes by the index of what was there before.
func TestWaitingStoreKeepsAnEndThatItHasCutOff(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := &fullDisk{InmemStore: raft.NewInmemStore()}
		s := &waitingStore{LogStore: d, StableStore: d, diskWait: newDiskWait(testLog(addr(0)))}
		entries := func(from, to, term uint64) (out []*raft.Log) {
			for i := from; i <= to; i++ {
				out = append(out, &raft.Log{Index: i, Term: term})
			}
			return out
		}
		require.NoError(t, s.StoreLogs(entries(1, 6, 1)))
		require.NoError(t, s.DeleteRange(1, 2))
		d.full.Store(true)
		assert.ErrorIs(t, s.StoreLogs(entries(7, 7, 1)), errFull, "the library gives leadership up")
		assert.ErrorIs(t, s.DeleteRange(5, 6), errFull)
		assert.ErrorIs(t, s.Set([]byte("LastVoteCand"), nil), errFull, "a vote is not given")

		d.full.Store(false)
		require.NoError(t, s.DeleteRange(5, 6))
		d.full.Store(true)
		time.AfterFunc(10*time.Second, func() { d.full.Store(false) })
		began := time.Now()
		require.NoError(t, s.StoreLogs(entries(5, 5, 2)))
		assert.GreaterOrEqual(t, time.Since(began), 10*time.Second)
		d.full.Store(true)
		assert.ErrorIs(t, s.StoreLogs(entries(6, 6, 2)), errFull, "the end is whole again")

		require.ErrorIs(t, s.SetUint64([]byte("LastVoteTerm"), 2), errFull)
		time.AfterFunc(10*time.Second, s.end)
		began = time.Now()
		require.NoError(t, s.SetUint64(keyTerm, 2))
		assert.Equal(t, 10*time.Second, time.Since(began))
		d.full.Store(false)
		assert.ErrorIs(t, s.SetUint64([]byte("LastVoteTerm"), 2), errOver, "there is no vote in a term that was not kept")
		term, err := d.GetUint64(keyTerm)
		require.NoError(t, err)
		assert.Zero(t, term)
	})
}
