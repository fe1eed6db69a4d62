package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteReplacesWhatIsItsOwn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".keepalived.data.new"), []byte("of a run that was killed"), 0o644))
	for _, text := range []string{"one", "two"} {
		require.NoError(t, Write(dir, "keepalived.data", []byte(text)))
		got, err := os.ReadFile(filepath.Join(dir, "keepalived.data"))
		require.NoError(t, err)
		assert.Equal(t, text, string(got))
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	info, err := entries[0].Info()
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())

	require.NoError(t, Remove(dir, "keepalived.data"))
	require.NoError(t, Remove(dir, "keepalived.data"), "there is nothing")
	assert.NoFileExists(t, filepath.Join(dir, "keepalived.data"))
}

func TestRemoveTakesWhatAKilledRunHasBegun(t *testing.T) {
	dir := t.TempDir()
	begun := filepath.Join(dir, ".keepalived.data.new")
	require.NoError(t, os.WriteFile(begun, []byte("half"), 0o600))
	require.NoError(t, Remove(dir, "keepalived.data"))
	assert.NoFileExists(t, begun)
}

// Everybody may write to /tmp.
func TestWriteRefusesWhatOthersHavePutThere(t *testing.T) {
	for name, tt := range map[string]struct {
		entry string
		put   func(t *testing.T, at, victim string)
		want  string
	}{
		"a symbolic link":             {"keepalived.data", func(t *testing.T, at, victim string) { require.NoError(t, os.Symlink(victim, at)) }, "no regular file"},
		"a link under the other name": {".keepalived.data.new", func(t *testing.T, at, victim string) { require.NoError(t, os.Symlink(victim, at)) }, "no regular file"},
		"a directory":                 {"keepalived.data", func(t *testing.T, at, _ string) { require.NoError(t, os.Mkdir(at, 0o755)) }, "no regular file"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, tt.entry, tt.put, tt.want) })
	}
	require.ErrorContains(t, Write(filepath.Join(t.TempDir(), "none"), "keepalived.data", nil), "none/keepalived.data: ")
}

// refused writes beside what put has made of an entry, which may point to a victim.
func refused(t *testing.T, entry string, put func(t *testing.T, at, victim string), want string) {
	t.Helper()
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("kept"), 0o600))
	put(t, filepath.Join(dir, entry), victim)
	require.ErrorContains(t, Write(dir, "keepalived.data", []byte("x")), want)
	got, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(got))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing is left behind")
}
