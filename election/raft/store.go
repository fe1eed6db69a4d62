package raft

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/keepvip/keepvip/internal/base/state"
)

const (
	// keepSnapshots is one more than needed, should the newest turn out to be unreadable.
	keepSnapshots = 2
	// lockTime is how long another process may hold the store, as during a restart.
	lockTime = 3 * time.Second
)

var (
	keyID        = []byte("keepvip id")
	keyHeartbeat = []byte("keepvip heartbeat")
)

// store is what survives a restart, or the loss of power. Every write is synced.
type store struct {
	logs      raft.LogStore
	stable    raft.StableStore
	snapshots raft.SnapshotStore
	close     func() error

	mu    sync.Mutex // guards begun
	begun *string    // as begunWith says; nil until that is asked
}

// openStore opens the store in dir/raft, which it makes if need be.
func openStore(dir string, log hclog.Logger) (*store, error) {
	dir = storeIn(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("raft: state directory: %w", err)
	}
	path := filepath.Join(dir, "store.db")
	if err := create(dir, path); err != nil {
		return nil, fmt.Errorf("raft: store %s: %w", path, err)
	}
	db, err := openLogStore(path)
	if err != nil {
		return nil, explain(path, err)
	}
	if _, err := removeUnfinished(dir); err != nil {
		log.Warn("a file that an earlier run has not finished stays", "error", err)
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, keepSnapshots, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("raft: snapshots in %s: %w", dir, err), db.Close())
	}
	newest := uint64(0)
	if all, err := snapshots.List(); err == nil && len(all) > 0 { // one that cannot be read is left out, with a line in the log
		newest = all[0].Index
	}
	if err := db.verifyRun(newest); err != nil {
		return nil, explain(path, errors.Join(err, db.Close()))
	}
	return &store{logs: db, stable: db, snapshots: snapshots, close: db.Close}, nil
}

// explain says what to do about a store that cannot be opened.
func explain(path string, err error) error {
	for _, damage := range []error{errDamaged, bbolterrors.ErrInvalid, bbolterrors.ErrChecksum, bbolterrors.ErrVersionMismatch} {
		if errors.Is(err, damage) {
			return fmt.Errorf("raft: store %s: %w; remove %s while a majority of the other members lives: this node joins again with an empty store", path, err, filepath.Dir(path))
		}
	}
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return fmt.Errorf("raft: store %s: another process holds it; is a keepvip running with this stateDir?", path)
	}
	return fmt.Errorf("raft: store %s: %w", path, err)
}

func options() *bbolt.Options { return &bbolt.Options{Timeout: lockTime, NoFreelistSync: true} }

// create makes the database, if there is none, and gives it its name when it is whole: half of one, as the loss of power would
// leave it, cannot be opened any more.
func create(dir, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(dir, ".store.db.new-*") // Cleanup finds it
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(f.Name(), 0o600, options())
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return state.SyncDir(dir)
}

// Cleanup takes away what runs that were killed have left of a database or a snapshot that they had not finished, in a state directory that no
// process uses, and returns the paths.
func Cleanup(dir string) (gone []string, err error) { return removeUnfinished(storeIn(dir)) }

// storeIn is where the store is in a state directory.
func storeIn(dir string) string { return filepath.Join(dir, "raft") }

func removeUnfinished(dir string) (gone []string, err error) {
	gone, err = state.Cleanup(dir)
	errs := []error{err}
	unfinished, _ := fs.Glob(os.DirFS(dir), "snapshots/*.tmp") // the library's name; it has no error for this pattern
	for _, name := range unfinished {
		path := filepath.Join(dir, name)
		if err := os.RemoveAll(path); err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, path)
	}
	return gone, errors.Join(errs...)
}

// used tells whether a node has ever been a member with this store.
func (s *store) used() (bool, error) {
	used, err := raft.HasExistingState(s.logs, s.stable, s.snapshots)
	if err != nil {
		return false, fmt.Errorf("raft: read the store: %w", err)
	}
	return used, nil
}

// formed tells whether the node of this store has taken part in an election, or knows of one: a cluster that is only begun has term 1. The library
// keeps a term before anything of it. What cannot be read may know of one.
func (s *store) formed() bool {
	term, err := s.stable.GetUint64(keyTerm)
	return term > 1 || ignoreNotFound(err) != nil
}

// begunWith is the digest of the addresses of the members that the store has; empty for none. It is read once: what is asked often reads no disk, and
// an election, which alone changes the members by itself, makes the store formed.
func (s *store) begunWith() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun != nil {
		return *s.begun
	}
	servers, err := s.servers()
	if err != nil {
		return "unreadable" // nobody has that list
	}
	var list []netip.Addr
	for _, m := range servers {
		list = append(list, addressOf(m.Address))
	}
	begun := ""
	if len(list) > 0 {
		begun = digest(list)
	}
	s.begun = &begun
	return begun
}

// rewritten says that the members in the store are others now.
func (s *store) rewritten() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = nil
}

// servers are the members of the newest configuration that the store has.
func (s *store) servers() ([]raft.Server, error) {
	var c raft.Configuration
	after := uint64(0)
	all, err := s.snapshots.List()
	if err == nil && len(all) > 0 {
		c, after = all[0].Configuration, all[0].Index
	}
	first, firstErr := s.logs.FirstIndex()
	last, lastErr := s.logs.LastIndex()
	err = errors.Join(err, firstErr, lastErr)
	for i := max(first, after+1); err == nil && i <= last; i++ {
		var l raft.Log
		if err = s.logs.GetLog(i, &l); err == nil && l.Type == raft.LogConfiguration {
			c = raft.DecodeConfiguration(l.Data) // it was looked at when the store was opened
		}
	}
	if err != nil {
		return nil, fmt.Errorf("raft: read the store: %w", err)
	}
	return c.Servers, nil
}

// id is the identity that goes with the store; empty for a new one.
func (s *store) id() (raft.ServerID, error) {
	id, err := s.stable.Get(keyID)
	if err := ignoreNotFound(err); err != nil {
		return "", err
	}
	return raft.ServerID(id), nil
}

func (s *store) setID(id raft.ServerID) error {
	if err := s.stable.Set(keyID, []byte(id)); err != nil {
		return fmt.Errorf("raft: write the store: %w", err)
	}
	return nil
}

// heartbeat exchanges the heartbeat timeout that is kept for the one in use, and returns the longer of them: vote locks of the
// run before were made by its own.
func (s *store) heartbeat(now time.Duration) (time.Duration, error) {
	old, err := s.stable.GetUint64(keyHeartbeat)
	if err := ignoreNotFound(err); err != nil {
		return 0, err
	}
	if time.Duration(old) != now {
		if err := s.stable.SetUint64(keyHeartbeat, uint64(now)); err != nil {
			return 0, fmt.Errorf("raft: write the store: %w", err)
		}
	}
	return max(now, min(time.Duration(old), time.Minute)), nil
}

// freshID names a store that replaces one that is lost: what the old one has voted is not known to it, so it is another member.
func freshID(base raft.ServerID) raft.ServerID {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return base + "#" + raft.ServerID(hex.EncodeToString(b[:]))
}
