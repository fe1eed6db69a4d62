package raft

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStoreSurvivesItsProcess(t *testing.T) {
	dir := t.TempDir()
	st, err := openStore(dir, newLibrary(testLog(addr(0))))
	require.NoError(t, err)
	used, err := st.used()
	require.NoError(t, err)
	assert.False(t, used)
	id, err := st.id()
	require.NoError(t, err)
	assert.Empty(t, id)
	require.NoError(t, st.setID("10.77.0.11"))
	hold, err := st.heartbeat(500 * time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, 500*time.Millisecond, hold)
	require.NoError(t, st.stable.SetUint64([]byte("CurrentTerm"), 3))
	require.NoError(t, st.logs.StoreLog(&raft.Log{Index: 1, Term: 3, Data: []byte("{}")}))
	require.NoError(t, st.close())

	st, err = openStore(dir, newLibrary(testLog(addr(0))))
	require.NoError(t, err)
	defer st.close()
	used, err = st.used()
	require.NoError(t, err)
	assert.True(t, used)
	id, err = st.id()
	require.NoError(t, err)
	assert.Equal(t, raft.ServerID("10.77.0.11"), id)
	hold, err = st.heartbeat(200 * time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, 500*time.Millisecond, hold, "vote locks of the run before were longer")
	hold, err = st.heartbeat(200 * time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, 200*time.Millisecond, hold)
}

func TestStoreIsOneProcesssAlone(t *testing.T) {
	dir := t.TempDir()
	st, err := openStore(dir, newLibrary(testLog(addr(0))))
	require.NoError(t, err)
	defer st.close()
	_, err = openStore(dir, newLibrary(testLog(addr(0))))
	assert.ErrorContains(t, err, "another process holds it")
}

func TestStoreTakesAwayWhatAKilledRunHasLeft(t *testing.T) {
	dir := t.TempDir()
	st, err := openStore(dir, newLibrary(testLog(addr(0))))
	require.NoError(t, err)
	require.NoError(t, st.close())
	store := filepath.Join(dir, "raft", "store.db")
	database, snapshot := filepath.Join(dir, "raft", ".store.db.new-123"), filepath.Join(dir, "raft", "snapshots", "2-5-1.tmp")
	require.NoError(t, os.Link(store, database))
	require.NoError(t, os.Mkdir(snapshot, 0o700))

	st, err = openStore(dir, newLibrary(testLog(addr(0))))
	require.NoError(t, err)
	assert.NoFileExists(t, database)
	assert.NoDirExists(t, snapshot)
	require.NoError(t, st.close())

	require.NoError(t, os.Link(store, database))
	require.NoError(t, os.Mkdir(snapshot, 0o700))
	gone, err := Cleanup(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{database, snapshot}, gone)
	assert.FileExists(t, store)
}

func TestRosterSnapshot(t *testing.T) {
	var r roster
	assert.Nil(t, r.Apply(&raft.Log{Data: []byte(`{"invite":"10.77.0.14"}`)}))
	assert.Error(t, r.Apply(&raft.Log{Data: []byte(`junk`)}).(error))
	assert.True(t, r.has(addr(3)))
	snap, err := r.Snapshot()
	require.NoError(t, err)
	store := raft.NewInmemSnapshotStore()
	sink, err := store.Create(1, 1, 1, raft.Configuration{}, 1, nil)
	require.NoError(t, err)
	require.NoError(t, snap.Persist(sink))
	_, in, err := store.Open(sink.ID())
	require.NoError(t, err)
	var again roster
	require.NoError(t, again.Restore(in))
	assert.True(t, again.has(addr(3)))
	assert.Nil(t, r.Apply(&raft.Log{Data: []byte(`{"disinvite":"10.77.0.14"}`)}))
	assert.False(t, r.has(addr(3)))
}
