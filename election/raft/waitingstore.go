package raft

import (
	"bytes"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/keepvip/keepvip/internal/base/code"
)

// writeAgain is after how long a disk that refuses a write is tried again.
const writeAgain = 500 * time.Millisecond

// keyTerm is where the library keeps its term.
var keyTerm = []byte("CurrentTerm")

// errOver is the error of what is written once the library shuts down.
var errOver = errors.New("raft: this node ends")

// waitingStore waits for a disk that is full or read-only where the library would not survive the error. The library
// panics where a term is not kept, which would end the process, its elections with VRRP included. It goes by entries
// that it has cut off, where those in their place are not kept. All else fails, and the library asks again: a vote that
// is not kept is not given, and a leader that cannot append leads no more.
type waitingStore struct {
	raft.LogStore
	raft.StableStore
	*diskWait
	cut atomic.Bool // entries were cut off the end, and those in their place are still to come
}

var (
	_ raft.LogStore    = (*waitingStore)(nil)
	_ raft.StableStore = (*waitingStore)(nil)
)

// SetUint64 implements raft.StableStore. The term that is kept already is not written: the library sets it when it
// begins, and is not to wait then. A library that shuts down need not keep its last term, as nobody gets a vote in that
// any more.
func (w *waitingStore) SetUint64(key []byte, value uint64) error {
	write := func() error { return w.StableStore.SetUint64(key, value) }
	if !bytes.Equal(key, keyTerm) {
		return w.unlessOver(write)
	}
	if kept, err := w.GetUint64(key); ignoreNotFound(err) == nil && kept == value {
		return nil
	}
	if err := w.insist(write); !errors.Is(err, errOver) {
		return err
	}
	return nil
}

// Set implements raft.StableStore.
func (w *waitingStore) Set(key, value []byte) error {
	return w.unlessOver(func() error { return w.StableStore.Set(key, value) })
}

// StoreLog implements raft.LogStore.
func (w *waitingStore) StoreLog(l *raft.Log) error { return w.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (w *waitingStore) StoreLogs(list []*raft.Log) error {
	write := func() error { return w.LogStore.StoreLogs(list) }
	if !w.cut.Load() {
		return w.unlessOver(write)
	}
	err := w.insist(write)
	w.cut.Store(err != nil)
	return err
}

// DeleteRange implements raft.LogStore.
func (w *waitingStore) DeleteRange(first, last uint64) error {
	end, err := w.LastIndex()
	if err != nil {
		return err
	}
	if err := w.unlessOver(func() error { return w.LogStore.DeleteRange(first, last) }); err != nil {
		return err
	}
	if last >= end {
		w.cut.Store(true)
	}
	return nil
}

// diskWait is the wait of a node for its disk. Safe for concurrent use.
type diskWait struct {
	log   *slog.Logger
	over  chan struct{} // closed: nobody waits, and nothing is written any more
	close sync.Once
	now   atomic.Pointer[string] // what is waited for; nil: nothing
}

func newDiskWait(log *slog.Logger) *diskWait { return &diskWait{log: log, over: make(chan struct{})} }

// why is why this node waits; empty when it does not.
func (d *diskWait) why() string {
	if text := d.now.Load(); text != nil {
		return *text
	}
	return ""
}

// end ends the wait, and refuses every write from now on: what was not kept must not be followed by a vote.
func (d *diskWait) end() { d.close.Do(func() { close(d.over) }) }

func (d *diskWait) unlessOver(write func() error) error {
	select {
	case <-d.over:
		return errOver
	default:
		return write()
	}
}

// insist writes until that succeeds, or the wait is over.
func (d *diskWait) insist(write func() error) error {
	err := d.unlessOver(write)
	if err == nil || errors.Is(err, errOver) {
		return err
	}
	began := time.Now()
	d.log.Error("the disk does not take what this node has to keep: it neither votes nor leads until it does",
		"error", err, "code", string(code.NoLeader))
	defer d.now.Store(nil)
	for err != nil && !errors.Is(err, errOver) {
		text := "this node knows of no leader while it waits for its disk: " + err.Error()
		d.now.Store(&text)
		select {
		case <-d.over:
		case <-time.After(writeAgain):
		}
		err = d.unlessOver(write)
	}
	if err == nil {
		d.log.Info("the disk takes what this node has to keep again", "after", time.Since(began).Round(time.Millisecond))
	}
	return err
}
