package raft

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
	"github.com/keepvip/keepvip/internal/base/regular"
	"go.etcd.io/bbolt"
)

// errNotFound has the text that the library takes for "this key was never set".
var errNotFound = errors.New("not found")

// errDamaged is about a database that is not as this package left it.
var errDamaged = errors.New("it is damaged")

// The buckets of the database: entries of the log by index (8 bytes, big endian; in MessagePack), and everything else by key
// (numbers are 8 bytes, big endian). The layout is that of github.com/hashicorp/raft-boltdb/v2, whose databases can be read.
var (
	bucketLog  = []byte("logs")
	bucketKeys = []byte("conf")
)

// logStore keeps raft's log and its few keys in one bbolt database. Every write is a transaction that is synced: after a loss
// of power it is there as a whole, or not at all. Safe for concurrent use.
//
// The log may have gaps, which the library relies on where a follower has got a snapshot: it is not a raft.MonotonicLogStore.
type logStore struct{ db *bbolt.DB }

var (
	_ raft.LogStore    = (*logStore)(nil)
	_ raft.StableStore = (*logStore)(nil)
)

// openLogStore opens the database, and looks at all of it before: it is small, and an election is not the time to find it
// damaged. The first look is without bbolt, which follows what is damaged in a goroutine of its own, and ends the process.
func openLogStore(path string) (*logStore, error) {
	if err := guarded(func() error { return inspect(path) }); err != nil {
		return nil, err
	}
	s := &logStore{}
	err := guarded(func() (err error) {
		if s.db, err = bbolt.Open(path, 0o600, options()); err != nil {
			return err
		}
		return s.db.Update(func(tx *bbolt.Tx) error {
			_, logErr := tx.CreateBucketIfNotExists(bucketLog)
			_, keysErr := tx.CreateBucketIfNotExists(bucketKeys)
			return errors.Join(logErr, keysErr)
		})
	})
	if err != nil && s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// inspect reads everything: the pages first, without bbolt.
func inspect(path string) error {
	if err := inspectPages(path); err != nil {
		return err
	}
	o := options()
	o.ReadOnly = true
	db, err := bbolt.Open(path, 0o600, o)
	if err != nil {
		return err
	}
	return errors.Join(db.View(verifyBuckets), db.Close())
}

func inspectPages(path string) error {
	f, size, err := regular.Open(path)
	switch {
	case errors.Is(err, regular.ErrNotRegular):
		return fmt.Errorf("%w: %w", errDamaged, err)
	case err != nil:
		return err
	}
	defer f.Close()
	if size == 0 {
		return fmt.Errorf("%w: an empty file", errDamaged)
	}
	return verifyPages(f, size)
}

// guarded runs what panics, or reads beyond the end of a file that is mapped, where a database is damaged.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errDamaged, r)
		}
	}()
	return do()
}

// verifyBuckets reads every entry and key. A new database has no buckets yet.
func verifyBuckets(tx *bbolt.Tx) error {
	err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		if b == nil {
			return fmt.Errorf("%w: %q is no bucket", errDamaged, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := walk(tx.Bucket(bucketKeys), func(_, _ []byte) error { return nil }); err != nil {
		return err
	}
	return walk(tx.Bucket(bucketLog), func(k, v []byte) error {
		index, err := number(k)
		if err != nil {
			return err
		}
		var l raft.Log
		if err := decodeLog(v, &l); err != nil {
			return err
		}
		if l.Index != index {
			return fmt.Errorf("%w: entry %d is kept as %d", errDamaged, l.Index, index)
		}
		return verifyContent(&l)
	})
}

// verifyContent refuses what the library would panic at, long after it has opened the store.
func verifyContent(l *raft.Log) error {
	switch l.Type {
	case raft.LogCommand, raft.LogNoop, raft.LogBarrier:
	case raft.LogConfiguration:
		return guarded(func() error { raft.DecodeConfiguration(l.Data); return nil })
	default:
		return fmt.Errorf("%w: entry %d of the type %d", errDamaged, l.Index, l.Type)
	}
	return nil
}

// verifyRun tells whether the log has every entry behind that of a snapshot, 0 for none: the library panics where one is missing.
func (s *logStore) verifyRun(snapshot uint64) error {
	last := snapshot
	return s.db.View(func(tx *bbolt.Tx) error {
		return walk(tx.Bucket(bucketLog), func(k, _ []byte) error {
			index, err := number(k)
			if err != nil || index <= last {
				return err
			}
			if index != last+1 {
				return fmt.Errorf("%w: the entries from %d to %d are missing", errDamaged, last+1, index-1)
			}
			last = index
			return nil
		})
	})
}

// walk calls do for each key of a bucket, which have to ascend.
func walk(b *bbolt.Bucket, do func(k, v []byte) error) error {
	if b == nil {
		return nil
	}
	var last []byte
	return b.ForEach(func(k, v []byte) error {
		if last != nil && bytes.Compare(last, k) >= 0 {
			return fmt.Errorf("%w: key %x after %x", errDamaged, k, last)
		}
		last = k
		return do(k, v)
	})
}

// Close gives the database back.
func (s *logStore) Close() error { return s.db.Close() }

// FirstIndex implements raft.LogStore; 0 for an empty log.
func (s *logStore) FirstIndex() (uint64, error) { return s.end((*bbolt.Cursor).First) }

// LastIndex implements raft.LogStore; 0 for an empty log.
func (s *logStore) LastIndex() (uint64, error) { return s.end((*bbolt.Cursor).Last) }

func (s *logStore) end(which func(*bbolt.Cursor) ([]byte, []byte)) (index uint64, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		if k, _ := which(tx.Bucket(bucketLog).Cursor()); k != nil {
			index, err = number(k)
		}
		return err
	})
	return index, err
}

// GetLog implements raft.LogStore; raft.ErrLogNotFound where there is no entry of that index.
func (s *logStore) GetLog(index uint64, l *raft.Log) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bucketLog).Get(octets(index))
		if v == nil {
			return raft.ErrLogNotFound
		}
		return decodeLog(v, l)
	})
}

// StoreLog implements raft.LogStore.
func (s *logStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore: all of them, or none. An entry replaces one of the same index.
func (s *logStore) StoreLogs(logs []*raft.Log) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		for _, l := range logs {
			v, err := encodeLog(l)
			if err != nil {
				return err
			}
			if err := tx.Bucket(bucketLog).Put(octets(l.Index), v); err != nil {
				return fmt.Errorf("raft: store entry %d: %w", l.Index, err)
			}
		}
		return nil
	})
}

// DeleteRange implements raft.LogStore. Both ends are included, and neither has to exist.
func (s *logStore) DeleteRange(first, last uint64) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketLog)
		var keys [][]byte // a cursor may skip a key after one that it has deleted
		c, end := b.Cursor(), octets(last)
		for k, _ := c.Seek(octets(first)); k != nil && bytes.Compare(k, end) <= 0; k, _ = c.Next() {
			keys = append(keys, bytes.Clone(k))
		}
		for _, k := range keys {
			if err := b.Delete(k); err != nil {
				return fmt.Errorf("raft: delete entry: %w", err)
			}
		}
		return nil
	})
}

// Set implements raft.StableStore.
func (s *logStore) Set(key, value []byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketKeys).Put(key, value) })
}

// Get implements raft.StableStore; errNotFound for a key that was never set.
func (s *logStore) Get(key []byte) (value []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bucketKeys).Get(key)
		if v == nil {
			return errNotFound
		}
		value = bytes.Clone(v) // v is the database's
		return nil
	})
	return value, err
}

// SetUint64 implements raft.StableStore.
func (s *logStore) SetUint64(key []byte, value uint64) error { return s.Set(key, octets(value)) }

// GetUint64 implements raft.StableStore; errNotFound for a key that was never set.
func (s *logStore) GetUint64(key []byte) (uint64, error) {
	v, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	return number(v)
}

func octets(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func number(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%w: a number of %d bytes, want 8", errDamaged, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

// handle is the MessagePack of entries: times are in the form of their own that the library sends over the wire, too.
func handle() *codec.MsgpackHandle {
	h := new(codec.MsgpackHandle)
	h.TimeNotBuiltin = true
	return h
}

func encodeLog(l *raft.Log) (out []byte, err error) {
	if err := codec.NewEncoderBytes(&out, handle()).Encode(l); err != nil {
		return nil, fmt.Errorf("raft: encode entry %d: %w", l.Index, err)
	}
	return out, nil
}

func decodeLog(b []byte, l *raft.Log) error {
	if err := codec.NewDecoderBytes(b, handle()).Decode(l); err != nil {
		return fmt.Errorf("%w: entry: %w", errDamaged, err)
	}
	return nil
}
