package startpages

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProgramPagesAreThoseThatNothingWrote(t *testing.T) {
	const exe = " fe:00 17 /usr/bin/keepvip"
	counts := func(anonymous, swapped int) string {
		return fmt.Sprintf("\nRss:                 400 kB\nAnonymous: %11d kB\nAnonHugePages:         0 kB\nSwap: %11d kB\nSwapPss:               0 kB\nVmFlags: rd ex mr mw me\n", anonymous, swapped)
	}
	smaps := "00400000-00c02000 r-xp 00000000" + exe + counts(0, 0) +
		"00c02000-01446000 r--p 00802000" + exe + counts(0, 0) +
		"01446000-01447000 r--p 01046000" + exe + counts(4, 0) + // relocations of a loader
		"01447000-01448000 r--p 01047000" + exe + counts(0, 4) +
		"01448000-014c0000 rw-p 01048000" + exe + counts(0, 0) +
		"014c0000-03506000 rw-p 00000000 00:00 0" + counts(0, 0) +
		"7fc1d9510000-7fc1d9800000 r--s 00000000 fe:00 18 /var/lib/keepvip/raft/store.db" + counts(0, 0) +
		"7fc1d9800000-7fc1d9900000 r--p 00000000 fe:00 19 /usr/lib/libc.so.6" + counts(0, 0) +
		"7fc220346000-7fc220348000 r-xp 00000000 00:00 0 [vdso]" + counts(0, 0) +
		"7fc220348000-7fc220349000 ---p 00000000" + exe + counts(0, 0) +
		"7fc220349000-7fc22034a000 r--p 00000000" + exe + " (deleted)" + counts(0, 0)
	found, err := programPages(strings.NewReader(smaps), "/usr/bin/keepvip")
	require.NoError(t, err)
	assert.Equal(t, []pages{{0x400000, 0xc02000}, {0xc02000, 0x1446000}}, found)

	_, err = programPages(strings.NewReader("0040000g-00c02000 r-xp 00000000"+exe+counts(0, 0)), "/usr/bin/keepvip")
	assert.Error(t, err)
}

func TestReleasedStartPagesAreNotResident(t *testing.T) {
	before := residentOfFiles(t)
	require.NoError(t, Release())
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
