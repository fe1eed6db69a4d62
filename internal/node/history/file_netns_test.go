//go:build netns

package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

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
