package daemon

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProgramPagesAreThoseThatNothingWrote(t *testing.T) {
	const maps = `00400000-00c02000 r-xp 00000000 fe:00 17 /usr/bin/keepvip
00c02000-01446000 r--p 00802000 fe:00 17 /usr/bin/keepvip
01446000-014c0000 rw-p 01046000 fe:00 17 /usr/bin/keepvip
014c0000-03506000 rw-p 00000000 00:00 0
7fc1d9510000-7fc1d9800000 r--s 00000000 fe:00 18 /var/lib/keepvip/raft/store.db
7fc1d9800000-7fc1d9900000 r--p 00000000 fe:00 19 /usr/lib/libc.so.6
7fc220346000-7fc220348000 r-xp 00000000 00:00 0 [vdso]
7fc220348000-7fc220349000 ---p 00000000 fe:00 17 /usr/bin/keepvip
`
	found, err := programPages(strings.NewReader(maps), "/usr/bin/keepvip")
	require.NoError(t, err)
	assert.Equal(t, []pages{{0x400000, 0xc02000}, {0xc02000, 0x1446000}}, found)

	_, err = programPages(strings.NewReader("0040000g-00c02000 r-xp 00000000 fe:00 17 /usr/bin/keepvip\n"), "/usr/bin/keepvip")
	assert.Error(t, err)
}

func TestReleasedStartPagesAreNotResident(t *testing.T) {
	before := residentOfFiles(t)
	require.NoError(t, releaseStartPages())
	assert.Less(t, residentOfFiles(t), before)
}

// residentOfFiles is what this process has mapped of files, in kB, in memory (tmpfs) or not.
func residentOfFiles(t *testing.T) (sum int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for _, name := range []string{"RssFile:", "RssShmem:"} {
		_, rest, found := strings.Cut(string(status), name)
		require.True(t, found)
		kB, err := strconv.Atoi(strings.Fields(rest)[0])
		require.NoError(t, err)
		sum += kB
	}
	return sum
}
