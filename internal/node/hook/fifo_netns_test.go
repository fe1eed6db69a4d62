//go:build netns

package hook

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
)

// In keepvip's unit root cannot open what a user owns: it has CHOWN, and not DAC_OVERRIDE.
func TestFIFOOfAUserWithTheUnitsCapabilities(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "notify")
	for _, state := range []string{"made", "left by a run that was killed"} {
		f := &fifo{cfg: config.FIFO{Path: path, UID: 65534, GID: 65534}}
		var fd int
		var err error
		asInUnit(t, func() { fd, err = f.open() })
		require.NoError(t, err, state)
		require.NoError(t, unix.Close(fd))
		var info unix.Stat_t
		require.NoError(t, unix.Lstat(path, &info))
		assert.Equal(t, []uint32{65534, 65534, ownMode}, []uint32{info.Uid, info.Gid, info.Mode}, state)
	}
}

// asInUnit runs do on a thread of its own with the capability CHOWN alone.
func asInUnit(t *testing.T, do func()) {
	t.Helper()
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its goroutine
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_CHOWN, Permitted: 1 << unix.CAP_CHOWN}}
		err := unix.Capset(&header, &data[0])
		if err == nil {
			do()
		}
		failed <- err
	}()
	require.NoError(t, <-failed)
}
