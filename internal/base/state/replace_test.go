package state

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestReplaceLeavesTheOldFileOrTheNewOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	path := filepath.Join(dir, "followed.json")
	b, err := Load(path, 10)
	require.NoError(t, err)
	assert.Nil(t, b, "there is no file")
	for _, text := range []string{"old", "new", ""} {
		require.NoError(t, Replace(path, []byte(text)))
		b, err = Load(path, 10)
		require.NoError(t, err)
		assert.NotNil(t, b)
		assert.Equal(t, text, string(b))
		assert.Equal(t, []string{"followed.json"}, names(t, dir), "nothing temporary stays")
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	require.ErrorIs(t, Replace(path, nil), fs.ErrExist)
	assert.Equal(t, []string{"followed.json"}, names(t, dir), "nor where it cannot be replaced")
}

func TestLoadReadsOneByteMoreThanThereMayBe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "followed.json")
	require.NoError(t, Replace(path, []byte("12345")))
	b, err := Load(path, 3)
	require.NoError(t, err)
	assert.Equal(t, "1234", string(b))
}

// leftover is what a run leaves that is killed before it has renamed the file.
func leftover(t *testing.T, path string) string {
	t.Helper()
	fresh, err := prepare(path, []byte("half"))
	require.NoError(t, err)
	return fresh
}

func TestOpenTakesAwayWhatAKilledRunHasLeftOfItsFile(t *testing.T) {
	dir := t.TempDir()
	other := leftover(t, filepath.Join(dir, "followed.json"))
	leftover(t, filepath.Join(dir, fileName))
	leftover(t, filepath.Join(dir, fileName))
	_, err := Open(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Base(other)}, names(t, dir), "another process may be about to rename that one")
}

func TestCleanupTakesAwayUnfinishedFilesOnly(t *testing.T) {
	dir := t.TempDir()
	gone, err := Cleanup(filepath.Join(dir, "not", "there"))
	require.NoError(t, err)
	assert.Empty(t, gone)
	want := []string{leftover(t, filepath.Join(dir, "followed.json")), leftover(t, filepath.Join(dir, fileName)), filepath.Join(dir, ".history.log.new")}
	require.NoError(t, os.WriteFile(want[2], nil, 0o600))
	kept := []string{".hidden", ".new", "holds.json", "readme.new"}
	for _, name := range kept {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".directory.new"), 0o700))
	gone, err = Cleanup(dir)
	require.NoError(t, err)
	assert.ElementsMatch(t, want, gone)
	assert.ElementsMatch(t, append(kept, ".directory.new"), names(t, dir))
}
