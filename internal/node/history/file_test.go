package history

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/code"
)

// patience bounds what a disk does by itself; tests return as soon as it has happened.
const patience = 10 * time.Second

func opened(dir string) (*Log, *journal) {
	said := &journal{}
	l := New(slog.New(slog.NewTextHandler(said, nil)))
	l.Open(dir)
	return l, said
}

func add(l *Log, n int) {
	for i := range n {
		l.Add(transition(i))
	}
}

func TestLogSurvivesInADirectoryThatWasNotThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	_, _, err := Read(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	l, _ := opened(dir)
	assert.NoDirExists(t, dir, "nothing has happened, nothing is written")
	add(l, 3)
	l.Close()
	info, err := os.Stat(Path(dir))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(fileMode), info.Mode().Perm())

	require.NoError(t, os.WriteFile(filepath.Join(dir, newName), []byte("of a run that was killed"), 0o600))
	for range 3 {
		l, said := opened(dir)
		add(l, maxRecords-1)
		l.Close()
		assert.Empty(t, said.String())
	}
	records, damaged, err := Read(dir)
	require.NoError(t, err)
	assert.Zero(t, damaged)
	require.Len(t, records, maxRecords)
	assert.Equal(t, uint64(3+3*(maxRecords-1)), records[maxRecords-1].Number)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing temporary stays")
}

func TestLogMendsATornFile(t *testing.T) {
	dir := t.TempDir()
	l, _ := opened(dir)
	add(l, 3)
	l.Close()
	whole, err := os.ReadFile(Path(dir))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(Path(dir), whole[:len(whole)-9], 0o600))
	records, damaged, err := Read(dir)
	require.NoError(t, err)
	assert.Len(t, records, 2)
	assert.Equal(t, 1, damaged)

	l, said := opened(dir)
	assert.Contains(t, said.String(), "lines=1")
	add(l, 1)
	l.Close()
	records, damaged, err = Read(dir)
	require.NoError(t, err)
	assert.Len(t, records, 3)
	assert.Zero(t, damaged)
}

func TestLogThatCannotUseItsFileLeavesItAsItIs(t *testing.T) {
	tests := map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"somebody else's": {func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600)) }, "it is no history"},
		"a later release's": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(headerText+"2\n{}\n"), 0o600))
		}, "want 1"},
		"a directory": {func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, "is a directory"},
		"a FIFO":      {func(t *testing.T, path string) { require.NoError(t, unix.Mkfifo(path, 0o600)) }, "no regular file"},
		"a symbolic link": {func(t *testing.T, path string) {
			require.NoError(t, os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), path))
		}, "a symbolic link, which is not followed: remove it"},
		"another process's": {func(t *testing.T, path string) {
			l, _ := opened(filepath.Dir(path))
			add(l, 1)
			f := waitFor(t, path)
			require.NoError(t, f.Close())
			t.Cleanup(l.Close)
		}, "another keepvip writes it; give each a --state-dir of its own"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tt.make(t, Path(dir))
			before, err := os.Lstat(Path(dir))
			require.NoError(t, err)
			l, said := opened(dir)
			add(l, 3)
			assert.Len(t, read(t, l), 3, "in memory")
			l.Close()
			require.NotNil(t, l.Status())
			assert.Contains(t, l.Status().Error, tt.want)
			assert.Contains(t, l.Status().Error, Path(dir))
			assert.Equal(t, 1, strings.Count(said.String(), "\n"), "said once: %s", said)
			after, err := os.Lstat(Path(dir))
			require.NoError(t, err)
			assert.True(t, os.SameFile(before, after))
			assert.Equal(t, before.Size(), after.Size())
		})
	}
}

// Whoever has the place of the file when keepvip starts keeps the transitions from the disk only as long as that.
func TestLogWritesItsFileWhenThePlaceIsFree(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, unix.Mkfifo(Path(dir), 0o600))
	l, said := opened(dir)
	add(l, 3)
	assert.Equal(t, code.HistoryUnwritten, l.Status().Code)
	require.NoError(t, os.Remove(Path(dir)))
	require.Eventually(t, func() bool { return l.Status() == nil }, patience, patience/1000)
	add(l, 1)
	l.Close()
	records, _, err := Read(dir)
	require.NoError(t, err, said)
	assert.Len(t, records, 4)
	assert.Equal(t, 1, strings.Count(said.String(), "code=KV491"), "%s", said)
}

// The process before may go on for a while: what it has written until its end comes first, and nothing of either is lost.
func TestLogTakesTheFileOverWhenTheProcessBeforeHasEnded(t *testing.T) {
	for name, late := range map[string]int{"with transitions": 3, "with more than are kept": maxRecords, "with none": 0} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before, _ := opened(dir)
			add(before, 2)
			require.NoError(t, waitFor(t, Path(dir)).Close())
			l, said := opened(dir)
			defer l.Close()
			add(l, late)
			require.NotNil(t, l.Status())
			add(before, 2)
			before.Close()
			require.Eventually(t, func() bool { return l.Status() == nil }, patience, patience/1000)
			add(l, 1)
			l.Close()
			records, damaged, err := Read(dir)
			require.NoError(t, err, said)
			assert.Zero(t, damaged)
			require.Len(t, records, min(4+late+1, maxRecords))
			last := uint64(4 + late + 1)
			for i, r := range records {
				assert.Equal(t, last+1-uint64(len(records)-i), r.Number)
			}
			assert.Equal(t, 1, strings.Count(said.String(), "code=KV491"), "%s", said)
		})
	}
}

// waitFor returns a file as soon as it is there.
func waitFor(t *testing.T, path string) (f *os.File) {
	t.Helper()
	require.Eventually(t, func() (there bool) {
		var err error
		f, err = os.Open(path)
		return err == nil
	}, patience, patience/1000)
	return f
}

func TestLogWithoutAStateDirectoryGoesOnInMemory(t *testing.T) {
	inTheWay := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	l, said := opened(filepath.Join(inTheWay, "state"))
	add(l, 3)
	l.Close()
	assert.Len(t, read(t, l), 3)
	assert.Equal(t, 1, strings.Count(said.String(), "in memory only"))
}

// Whoever removes the file, or puts another in its place, has a new one with everything in it.
func TestLogWhoseFileIsTakenAwayWritesItAgain(t *testing.T) {
	dir := t.TempDir()
	l, said := opened(dir)
	add(l, 3)
	require.NoError(t, waitFor(t, Path(dir)).Close())
	require.NoError(t, os.Remove(Path(dir)))
	add(l, 1)
	l.Close()
	records, _, err := Read(dir)
	require.NoError(t, err, said)
	assert.Len(t, records, 4)
}

func TestLogTakesAwayWhatAKilledRunHasLeft(t *testing.T) {
	dir := t.TempDir()
	l, _ := opened(dir)
	add(l, 1)
	l.Close()
	fresh := filepath.Join(dir, newName)
	require.NoError(t, os.WriteFile(fresh, []byte("half"), 0o600))
	_, _, err := Read(dir)
	require.NoError(t, err)
	assert.FileExists(t, fresh, "one who only reads takes nothing away")
	l, said := opened(dir)
	l.Close()
	assert.NoFileExists(t, fresh)
	assert.Empty(t, said.String())
}
