package hook

import (
	"bufio"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

func (b *bench) open(path string) {
	b.Open(config.FIFO{Path: path, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())})
}

// written waits for so many lines.
func (b *bench) written(n uint64) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { s := b.Status().FIFO; return s.Written+s.Dropped >= n }, patience, time.Millisecond, "%+v", b.Status().FIFO)
}

func TestFIFO(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "notify")
	b.open(path)
	b.Use([]Entry{{Name: "a", Told: "VI_1", Group: "g", GroupTold: "VG_1"}}, nil)
	b.report(config.HookBackup)
	b.written(2)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.ModeNamedPipe|fs.ModeSticky|0o600, info.Mode())
	reader, err := os.Open(path) // after the first lines: they wait for it, as those of keepalived do
	require.NoError(t, err)
	defer reader.Close()
	b.report(config.HookMaster, config.HookStop)
	b.written(6)
	b.Close()
	var got []string
	for lines := bufio.NewScanner(reader); lines.Scan(); {
		got = append(got, lines.Text())
	}
	assert.Equal(t, []string{
		`INSTANCE "VI_1" BACKUP 100`, `GROUP "VG_1" BACKUP 0`, `INSTANCE "VI_1" MASTER 100`, `GROUP "VG_1" MASTER 0`, `INSTANCE "VI_1" STOP 100`, `GROUP "VG_1" STOP 0`,
	}, got)
	assert.NoFileExists(t, path, "it was made here")
}

// Nobody reads: a pipe that is full costs lines, and nothing else.
func TestFIFOThatNobodyReads(t *testing.T) {
	b := newBench(t)
	b.open(filepath.Join(b.dir, "notify"))
	b.use()
	const changes = 8000
	for range changes / 2 {
		b.report(config.HookMaster, config.HookBackup)
	}
	b.written(changes)
	s := b.Status().FIFO
	b.Close()
	assert.Equal(t, uint64(changes), s.Written+s.Dropped)
	assert.Positive(t, s.Dropped)
	assert.Positive(t, s.Written)
	assert.Less(t, strings.Count(b.log.String(), "\n"), 3, "it is said once:\n%s", b.log)
}

func TestFIFOThatIsThereStays(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "notify")
	require.NoError(t, unix.Mkfifo(path, 0o640))
	b.open(path)
	b.use()
	b.report(config.HookMaster)
	b.written(1)
	b.Close()
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.ModeNamedPipe|0o640, info.Mode())
}

func TestFIFOThatIsNone(t *testing.T) {
	b := newBench(t)
	file, link := filepath.Join(b.dir, "file"), filepath.Join(b.dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o644))
	require.NoError(t, os.Symlink(file, link))
	for path, want := range map[string]string{
		file:                     "it is no pipe, want one, or nothing there",
		link:                     "it is no pipe, want one, or nothing there",
		"/no/such/dir/keepvip":   "make it: no such file or directory, want a directory that is there and that keepvip may write, such as /run/keepvip",
		filepath.Join(b.dir, ""): "it is no pipe, want one, or nothing there",
	} {
		b := newBench(t)
		b.open(path)
		b.use()
		b.report(config.HookMaster)
		b.written(1)
		assert.Equal(t, FIFOStatus{Path: path, Dropped: 1, Error: want, Code: code.FIFOUnwritten}, *b.Status().FIFO)
		b.Close()
		assert.Contains(t, b.log.String(), "code=KV490")
	}
	assert.Equal(t, "text", b.file("file"))
}

// Whoever has the place of the pipe when keepvip starts keeps lines from it only as long as that.
func TestFIFOIsOpenedWhenItsPlaceIsFree(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "notify")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	b.open(path)
	b.use()
	b.report(config.HookMaster)
	b.written(1)
	require.NoError(t, os.Remove(path))
	require.Eventually(t, func() bool { return b.Status().FIFO.Error == "" }, patience, time.Millisecond)
	reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()
	b.report(config.HookBackup)
	b.written(2)
	b.Close()
	text, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Equal(t, "INSTANCE \"a\" BACKUP 100\n", string(text))
	assert.NoFileExists(t, path)
	assert.Equal(t, 1, strings.Count(b.log.String(), "code=KV490"), "%s", b.log.String())
	assert.Contains(t, b.log.String(), "the notify FIFO is open now")
}

// A keepvip that was killed has left the pipe. The next one goes on with it, so that a reader that has it open is not lost, and removes it.
func TestFIFOThatAKilledRunHasLeft(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "notify")
	require.NoError(t, unix.Mkfifo(path, 0o1600))
	before, err := os.Stat(path)
	require.NoError(t, err)
	b.open(path)
	b.use()
	b.report(config.HookMaster)
	b.written(1)
	after, err := os.Stat(path)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
	b.Close()
	assert.NoFileExists(t, path)
}

func TestFIFOWhosePlaceIsTakenRemovesNothing(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "notify")
	b.open(path)
	b.use()
	b.report(config.HookMaster)
	b.written(1)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	b.Close()
	assert.Equal(t, "text", b.file("notify"))
}
