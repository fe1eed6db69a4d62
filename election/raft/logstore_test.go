package raft

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

func openTestLog(t testing.TB, path string) *logStore {
	t.Helper()
	require.NoError(t, create(filepath.Dir(path), path))
	s, err := openLogStore(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() }) // a second time is of no consequence
	return s
}

func newTestLog(t testing.TB) *logStore {
	t.Helper()
	return openTestLog(t, filepath.Join(t.TempDir(), "store.db"))
}

func entry(index uint64, data string) *raft.Log {
	return &raft.Log{Index: index, Term: 1, Data: []byte(data)}
}

func entries(first, last uint64) []*raft.Log {
	var out []*raft.Log
	for i := first; i <= last; i++ {
		out = append(out, entry(i, "data"))
	}
	return out
}

// ends are the first and the last index.
func ends(t *testing.T, s raft.LogStore) [2]uint64 {
	t.Helper()
	first, err := s.FirstIndex()
	require.NoError(t, err)
	last, err := s.LastIndex()
	require.NoError(t, err)
	return [2]uint64{first, last}
}

// Whatever raft's own store in memory does, this one does.
func TestLogStoreKeepsEntries(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) raft.LogStore{
		"in memory": func(*testing.T) raft.LogStore { return raft.NewInmemStore() },
		"on disk":   func(t *testing.T) raft.LogStore { return newTestLog(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			assert.Equal(t, [2]uint64{0, 0}, ends(t, s), "empty")
			var l raft.Log
			require.ErrorIs(t, s.GetLog(1, &l), raft.ErrLogNotFound)
			require.NoError(t, s.StoreLog(entry(5, "five")))
			assert.Equal(t, [2]uint64{5, 5}, ends(t, s))
			require.NoError(t, s.StoreLogs(entries(6, 300)))
			require.NoError(t, s.StoreLogs(nil))
			assert.Equal(t, [2]uint64{5, 300}, ends(t, s))
			require.NoError(t, s.GetLog(5, &l))
			assert.Equal(t, *entry(5, "five"), l)
			require.NoError(t, s.StoreLog(entry(6, "anew")))
			require.NoError(t, s.GetLog(6, &l))
			assert.Equal(t, *entry(6, "anew"), l)
			require.NoError(t, s.DeleteRange(5, 10))
			assert.Equal(t, [2]uint64{11, 300}, ends(t, s), "both ends are included")
			for i := uint64(5); i <= 10; i++ {
				require.ErrorIs(t, s.GetLog(i, &l), raft.ErrLogNotFound)
			}
			require.NoError(t, s.DeleteRange(250, 300))
			assert.Equal(t, [2]uint64{11, 249}, ends(t, s), "a suffix, as after a change of leaders")
			for i := uint64(11); i <= 249; i++ {
				require.NoError(t, s.GetLog(i, &l))
				assert.Equal(t, i, l.Index)
			}
			require.NoError(t, s.DeleteRange(11, 249))
			assert.Equal(t, [2]uint64{0, 0}, ends(t, s), "empty again")
		})
	}
}

func TestLogStoreDeletesWhatThereIsOfRange(t *testing.T) {
	s := newTestLog(t)
	require.NoError(t, s.DeleteRange(1, 100), "an empty log")
	require.NoError(t, s.StoreLogs(entries(10, 20)))
	require.NoError(t, s.DeleteRange(30, 40))
	require.NoError(t, s.DeleteRange(1, 9))
	require.NoError(t, s.DeleteRange(20, 10), "the wrong way round")
	assert.Equal(t, [2]uint64{10, 20}, ends(t, s))
	require.NoError(t, s.DeleteRange(1, 12))
	require.NoError(t, s.DeleteRange(19, 1<<63))
	assert.Equal(t, [2]uint64{13, 18}, ends(t, s))
}

// A follower that has got a snapshot stores what comes after it, whatever it had before: the library asks a store that could not
// do so to say so.
func TestLogStoreMayHaveGaps(t *testing.T) {
	s := newTestLog(t)
	_, monotonic := any(s).(raft.MonotonicLogStore)
	assert.False(t, monotonic)
	require.NoError(t, s.StoreLogs(entries(1, 3)))
	require.NoError(t, s.StoreLogs(entries(1000, 1002)))
	assert.Equal(t, [2]uint64{1, 1002}, ends(t, s))
	var l raft.Log
	require.ErrorIs(t, s.GetLog(500, &l), raft.ErrLogNotFound)
	require.NoError(t, s.DeleteRange(1, 999))
	assert.Equal(t, [2]uint64{1000, 1002}, ends(t, s))
}

func TestLogStoreKeepsAllOfAnEntry(t *testing.T) {
	s := newTestLog(t)
	for i, want := range []raft.Log{
		{},
		{Index: 1 << 60, Term: 1<<64 - 1, Type: raft.LogBarrier},
		{Term: 3, Type: raft.LogConfiguration, Data: bytes.Repeat([]byte{0, 255}, 50_000), Extensions: []byte("more"), AppendedAt: time.Unix(1, 2).UTC()},
	} {
		want.Index += uint64(i + 1)
		require.NoError(t, s.StoreLog(&want))
		var got raft.Log
		require.NoError(t, s.GetLog(want.Index, &got))
		assert.True(t, want.AppendedAt.Equal(got.AppendedAt))
		want.AppendedAt, got.AppendedAt = time.Time{}, time.Time{}
		assert.Equal(t, want, got)
	}
}

func TestLogStoreKeepsKeys(t *testing.T) {
	s := newTestLog(t)
	_, err := s.Get([]byte("term"))
	require.EqualError(t, err, "not found", "the library compares the text")
	_, err = s.GetUint64([]byte("term"))
	require.EqualError(t, err, "not found")
	require.NoError(t, s.SetUint64([]byte("term"), 1<<64-1))
	n, err := s.GetUint64([]byte("term"))
	require.NoError(t, err)
	assert.Equal(t, uint64(1<<64-1), n)
	require.NoError(t, s.Set([]byte("vote"), []byte("10.77.0.11")))
	require.NoError(t, s.Set([]byte("vote"), []byte("10.77.0.12")))
	v, err := s.Get([]byte("vote"))
	require.NoError(t, err)
	assert.Equal(t, "10.77.0.12", string(v))
	v[0] = 'X'
	again, err := s.Get([]byte("vote"))
	require.NoError(t, err)
	assert.Equal(t, "10.77.0.12", string(again), "the caller's copy")
	_, err = s.GetUint64([]byte("vote"))
	require.ErrorIs(t, err, errDamaged, "no number")
	require.Error(t, s.Set(nil, []byte("x")))
}

func TestLogStoreSurvivesReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := openTestLog(t, path)
	require.NoError(t, s.StoreLogs(entries(1, 500)))
	require.NoError(t, s.DeleteRange(1, 400))
	require.NoError(t, s.SetUint64([]byte("term"), 7))
	require.NoError(t, s.Close())
	for range 3 {
		s = openTestLog(t, path)
		assert.Equal(t, [2]uint64{401, 500}, ends(t, s))
		n, err := s.GetUint64([]byte("term"))
		require.NoError(t, err)
		assert.Equal(t, uint64(7), n)
		require.NoError(t, s.Close())
	}
	assert.ErrorIs(t, s.StoreLog(entry(1, "")), bbolterrors.ErrDatabaseNotOpen)
}

func TestLogStoreSyncsEveryWrite(t *testing.T) {
	s := newTestLog(t)
	assert.False(t, s.db.NoSync)
	assert.False(t, s.db.NoGrowSync)
}

// Entries that cannot all be stored are not stored at all.
func TestLogStoreStoresAllOrNothing(t *testing.T) {
	s := newTestLog(t)
	require.NoError(t, s.StoreLogs(entries(1, 3)))
	require.Error(t, s.db.Update(func(tx *bbolt.Tx) error {
		require.NoError(t, tx.Bucket(bucketLog).Put(octets(4), []byte("x")))
		return assert.AnError
	}))
	assert.Equal(t, [2]uint64{1, 3}, ends(t, s))
}

// The database of this file was written by github.com/hashicorp/raft-boltdb/v2 v2.3.1 over bbolt 1.3.5.
func TestLogStoreReadsRaftBoltdb(t *testing.T) {
	content, err := os.ReadFile("testdata/raft-boltdb-2.3.1.db")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "store.db")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	s := openTestLog(t, path)
	assert.Equal(t, [2]uint64{298, 303}, ends(t, s))
	at := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC)
	members := raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{
		{Suffrage: raft.Voter, ID: "10.77.0.11", Address: "10.77.0.11"},
		{Suffrage: raft.Voter, ID: "10.77.0.12", Address: "10.77.0.12"},
		{Suffrage: raft.Nonvoter, ID: "10.77.0.13#0123456789ab", Address: "10.77.0.13"},
	}})
	for _, want := range []raft.Log{
		{Index: 298, Term: 1, Type: raft.LogNoop},
		{Index: 301, Term: 2, Type: raft.LogConfiguration, Data: members, AppendedAt: at},
		{Index: 302, Term: 2, Type: raft.LogCommand, Data: []byte(`{"invite":"10.77.0.14"}`), Extensions: []byte{1, 2, 3}, AppendedAt: at},
		{Index: 303, Term: 1 << 40, Type: raft.LogBarrier},
	} {
		var got raft.Log
		require.NoError(t, s.GetLog(want.Index, &got))
		assert.Equal(t, want, got)
		require.NoError(t, s.db.View(func(tx *bbolt.Tx) error {
			own, err := encodeLog(&want)
			assert.Equal(t, tx.Bucket(bucketLog).Get(octets(want.Index)), own, "the same octets: it could read this one's")
			return err
		}))
	}
	for key, want := range map[string]uint64{"CurrentTerm": 1 << 40, "LastVoteTerm": 1 << 40, "keepvip heartbeat": uint64(500 * time.Millisecond)} {
		got, err := s.GetUint64([]byte(key))
		require.NoError(t, err)
		assert.Equal(t, want, got, key)
	}
	for key, want := range map[string]string{"LastVoteCand": "10.77.0.12", "keepvip id": "10.77.0.11"} {
		got, err := s.Get([]byte(key))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), key)
	}
	require.NoError(t, s.StoreLog(entry(304, "more")))
}

// What is damaged is refused with one error, and never ends the process.
func TestStoreRefusesDamagedFile(t *testing.T) {
	good := damageable(t)
	for name, change := range map[string]func([]byte) []byte{
		"empty file":          func([]byte) []byte { return nil },
		"another file":        func([]byte) []byte { return bytes.Repeat([]byte("junk"), 10_000) },
		"both heads zero":     func(b []byte) []byte { clear(b[:2*4096]); return b },
		"all but heads zero":  func(b []byte) []byte { clear(b[2*4096:]); return b },
		"cut after the heads": func(b []byte) []byte { return b[:2*4096] },
		"cut in the middle":   func(b []byte) []byte { return b[:3*4096+100] },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "raft"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "raft", "store.db"), change(bytes.Clone(good)), 0o600))
			_, err := openStore(dir, newLibrary(testLog(addr(0))))
			require.ErrorContains(t, err, "raft: store "+dir)
			require.ErrorContains(t, err, "remove "+filepath.Join(dir, "raft")+" while a majority of the other members lives")
		})
	}
}

// What the library would panic at, once it reads the entry, is found when the store is opened.
func TestStoreRefusesEntriesThatTheLibraryPanicsAt(t *testing.T) {
	for name, give := range map[string][]*raft.Log{
		"a configuration that is none": {{Index: 1, Term: 1, Type: raft.LogConfiguration}},
		"a type that is none":          {{Index: 1, Term: 1, Type: 77}},
		"a gap":                        {{Index: 1, Term: 1}, {Index: 3, Term: 1}},
		"no beginning":                 {{Index: 2, Term: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := openStore(dir, newLibrary(testLog(addr(0))))
			require.NoError(t, err)
			require.NoError(t, s.logs.StoreLogs(give))
			require.NoError(t, s.close())
			_, err = openStore(dir, newLibrary(testLog(addr(0))))
			require.ErrorIs(t, err, errDamaged)
			require.ErrorContains(t, err, "while a majority of the other members lives")
		})
	}
}

// Octets that change at random are found, or are in a place that does not count, or in the middle of a value, which has no
// checksum.
func TestLogStoreInspectsDamagedOctets(t *testing.T) {
	good := damageable(t)
	r := rand.New(rand.NewPCG(1, 2))
	path, refused := filepath.Join(memory(t), "store.db"), 0
	for range 100 {
		bad := bytes.Clone(good)
		for range 1 + r.IntN(20) {
			bad[r.IntN(len(bad))] = byte(r.Uint32())
		}
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		if guarded(func() error { return inspect(path) }) != nil {
			refused++
		}
	}
	assert.Greater(t, refused, 10)
	t.Log(refused, "of 100 refused")
}

// damageable is the content of a good database.
func damageable(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s := openTestLog(t, path)
	require.NoError(t, s.StoreLogs(entries(1, 300)))
	require.NoError(t, s.SetUint64([]byte("CurrentTerm"), 3))
	require.NoError(t, s.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

func BenchmarkLogStoreStoreLog(b *testing.B) {
	s := newTestLog(b)
	for i := range b.N {
		if err := s.StoreLog(entry(uint64(i+1), "data")); err != nil {
			b.Fatal(err)
		}
	}
}
