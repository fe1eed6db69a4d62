//go:build netns

package nfttables

import (
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

var ours = ID{unix.NFPROTO_IPV4, "keepvip-test"}

func nft(t *testing.T, command string) error {
	t.Helper()
	return exec.Command("nft", command).Run()
}

func TestTableIsOwnedWhileItsProcessLives(t *testing.T) {
	netnstest.New(t)
	require.True(t, Owning(), "this kernel is at least Linux 6.9")
	var c Conn
	defer c.Close()
	require.NoError(t, nft(t, "add table ip keepvip-test"))
	for range 2 {
		require.NoError(t, c.Commit(append(removeTable(ours), NewTable(ours))), "in place of one of somebody else, or of its own")
	}
	is, err := c.Table(ours)
	require.NoError(t, err)
	assert.True(t, is.Mine)
	require.Error(t, nft(t, "add chain ip keepvip-test theirs"))
	require.NoError(t, nft(t, "flush ruleset"))
	after, err := c.Table(ours)
	require.NoError(t, err)
	assert.Equal(t, is, after)

	c.Close()
	after, err = c.Table(ours)
	require.NoError(t, err)
	assert.True(t, after.Mine, "taken over by the next socket")
	assert.Equal(t, is.Handle, after.Handle)

	c.Close()
	var next Conn
	defer next.Close()
	require.NoError(t, next.Commit(append(removeTable(ours), NewTable(ours))), "a next run")
	require.ErrorIs(t, c.Commit(removeTable(ours)), unix.EPERM)
	_, err = Delete([]byte{unix.NFPROTO_IPV4}, func(byte, string) bool { return true })
	require.ErrorIs(t, err, unix.EPERM)
	closed := make(chan struct{})
	time.AfterFunc(20*time.Millisecond, func() { next.Close(); close(closed) }) // as of a process that was killed a moment ago
	gone, err := Delete([]byte{unix.NFPROTO_IPV4}, func(byte, string) bool { return true })
	require.NoError(t, err)
	<-closed
	assert.Equal(t, []string{ours.String()}, gone, "a cleanup")
}

func TestCommitIsAllOrNothing(t *testing.T) {
	netnstest.New(t)
	var c Conn
	defer c.Close()
	missing := ID{unix.NFPROTO_IPV4, "missing"}
	require.ErrorIs(t, c.Commit([]netlink.Message{NewTable(ours), deleteTable(missing)}), unix.ENOENT)
	_, err := c.Table(ours)
	require.ErrorIs(t, err, unix.ENOENT)
	require.NoError(t, c.Commit(nil))
	before, err := c.Generation()
	require.NoError(t, err)
	require.NoError(t, c.Commit([]netlink.Message{NewTable(ours)}), "after one that was refused")
	after, err := c.Generation()
	require.NoError(t, err)
	assert.Equal(t, before+1, after)
	_, err = c.Table(ours)
	require.NoError(t, err)

	said, err := Encode(func(l *nftables.Conn) error {
		t := &nftables.Table{Name: ours.Name, Family: nftables.TableFamilyIPv4}
		l.AddTable(t)
		l.DelTable(t)
		l.AddTable(t)
		l.AddChain(&nftables.Chain{Name: "c", Table: t})
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, c.Commit(said))
	is, err := c.Table(ours)
	require.NoError(t, err)
	assert.Equal(t, state{Handle: is.Handle, Uses: 1, Mine: true}, is)
}

func TestWatchTellsWhatOthersChange(t *testing.T) {
	Older(true)
	defer Older(false)
	s := netnstest.New(t)
	w, err := OpenWatch()
	require.NoError(t, err)
	require.True(t, w.Tells())
	var looks atomic.Int32
	stop := w.Follow(func() { looks.Add(1) })
	var c Conn
	defer c.Close()
	require.NoError(t, c.Commit([]netlink.Message{NewTable(ours)}))
	require.NoError(t, nft(t, "flush ruleset"))
	s.Eventually(func() bool { return looks.Load() == 1 }, "of a flush, and not of what this process has done")
	is, err := c.Table(ours)
	require.ErrorIs(t, err, unix.ENOENT, "%v", is)

	before := looks.Load()
	began := time.Now()
	for range 100 { // all in one socket: more of them than there may be looks
		var theirs Conn
		require.NoError(t, theirs.dial())
		ports.Delete(theirs.port) // as of another process
		require.NoError(t, theirs.Commit([]netlink.Message{NewTable(ours)}))
		require.NoError(t, theirs.Commit([]netlink.Message{deleteTable(ours)}))
		theirs.Close()
	}
	s.Eventually(func() bool { return looks.Load() > before }, "of the first")
	assert.LessOrEqual(t, int64(looks.Load()-before), int64(time.Since(began)/watchGap)+1, "never more often than that")
	stop()
	stop()
	require.NoError(t, w.Close())
	stopped := looks.Load()
	require.NoError(t, nft(t, "add table ip other"))
	assert.Equal(t, stopped, looks.Load())
}

func TestWatchOfNobody(t *testing.T) {
	var w *Watch
	assert.False(t, w.Tells())
	w.Follow(func() { t.Fail() })()
	require.NoError(t, w.Close())
	w, err := OpenWatch()
	require.NoError(t, err)
	assert.True(t, w.Tells(), "where tables are owned nobody changes them")
	w.Follow(func() { t.Fail() })()
	require.NoError(t, w.Close())
}
