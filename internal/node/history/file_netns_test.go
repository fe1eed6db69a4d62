//go:build netns

package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// whenOpened has do done while somebody opens the file at a path. The kernel has found the file by then, and waits for
// the process that watches it.
func whenOpened(t *testing.T, path string, do func()) {
	t.Helper()
	watch, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY|unix.O_CLOEXEC)
	require.NoError(t, err, "it takes root")
	require.NoError(t, unix.FanotifyMark(watch, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, path))
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		defer unix.Close(watch) // whoever waits still may go on
		var event unix.FanotifyEventMetadata
		n, err := unix.Read(watch, unsafe.Slice((*byte)(unsafe.Pointer(&event)), unsafe.Sizeof(event)))
		if !assert.NoError(t, err) || !assert.EqualValues(t, unsafe.Sizeof(event), n) {
			return
		}
		do()
		assert.NoError(t, unix.Close(int(event.Fd)))
	}()
}

// The process before may put a new file in place, and end, while this one opens the file that was there. All that was
// written into that file would be lost.
func TestLogDoesNotTakeOverAFileThatWasReplacedWhileItWasOpened(t *testing.T) {
	dir := mounted(t, "size=1m")
	before, _ := opened(dir)
	add(before, 2)
	require.NoError(t, waitFor(t, Path(dir)).Close())
	var last []Record
	whenOpened(t, Path(dir), func() {
		assert.NoError(t, os.Remove(Path(dir))) // by which all is written into another file at the end
		add(before, 1)
		before.Close()
		last, _, _ = Read(dir)
	})
	l, said := opened(dir)
	require.Len(t, last, 3)
	assert.Contains(t, said.String(), "somebody has put another file in its place")
	require.Eventually(t, func() bool { return l.Status() == nil }, patience, patience/1000)
	add(l, 1)
	l.Close()
	records, damaged, err := Read(dir)
	require.NoError(t, err)
	assert.Zero(t, damaged)
	assert.Len(t, records, 4)
}

// mounted is a directory on a small disk of its own.
func mounted(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, options), "a mount takes root")
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

func TestLogOnADiskThatIsFull(t *testing.T) {
	dir := mounted(t, "size=64k")
	l, _ := opened(dir)
	add(l, 10)
	l.Close()
	filler := filepath.Join(dir, "filler")
	_ = os.WriteFile(filler, make([]byte, 1<<20), 0o600) // as far as it goes
	l, said := opened(dir)
	add(l, 2*maxRecords) // more than the last page of the file has room for
	require.Eventually(t, func() bool { s := l.Status(); return s != nil && s.Error != "" }, patience, patience/1000)
	assert.Contains(t, l.Status().Error, "no space left on device")
	assert.Len(t, read(t, l), maxRecords)
	l.Close()
	assert.Equal(t, 1, strings.Count(said.String(), "in memory only"))
	records, _, err := Read(dir)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(records), 10, "what was there stays")

	require.NoError(t, os.Remove(filler))
	before := records[len(records)-1].Number
	l, _ = opened(dir)
	add(l, 1)
	l.Close()
	records, damaged, err := Read(dir)
	require.NoError(t, err)
	assert.Zero(t, damaged)
	assert.Equal(t, before+1, records[len(records)-1].Number)
}

func TestLogOnADiskThatIsReadOnly(t *testing.T) {
	dir := mounted(t, "size=1m")
	l, _ := opened(dir)
	add(l, 10)
	l.Close()
	require.NoError(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	l, said := opened(dir)
	add(l, 5)
	assert.Len(t, read(t, l), 5+10)
	l.Close()
	assert.Contains(t, l.Status().Error, "read-only file system")
	assert.Equal(t, 1, strings.Count(said.String(), "in memory only"))
	records, _, err := Read(dir)
	require.NoError(t, err)
	assert.Len(t, records, 10)
}
