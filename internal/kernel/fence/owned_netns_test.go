//go:build netns

package fence

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A firewall that begins with an empty rule set, and whoever deletes the tables by their names, does nothing to a fence
// whose process is there.
func TestFenceThatIsOwnedOutlivesAFlush(t *testing.T) {
	w := newWire(t)
	f := w.fence(300*time.Millisecond, long)
	require.NoError(t, f.hold(4, 6))
	now, err := f.kernel.socket.Generation()
	require.NoError(t, err)
	require.NoError(t, exec.Command("nft", "flush ruleset; add table ip other").Run())
	for _, id := range f.kernel.tables.ids() {
		require.Error(t, exec.Command("nft", "delete table "+id.String()).Run(), "%s is ours", id)
	}
	then, err := f.kernel.socket.Generation()
	require.NoError(t, err)
	assert.NotEqual(t, now, then, "there was a flush")
	require.NoError(t, f.verify())
	w.all(false, "without a lease")

	f.kernel.socket.close() // as after an error of the socket
	require.NoError(t, f.verify(), "it is owned again")
	require.NoError(t, exec.Command("nft", "flush ruleset").Run())
	w.all(false, "without a lease")
	f.dies()
	require.NoError(t, exec.Command("nft", "flush ruleset").Run())
	w.all(true, "what a dead process has left is no more than that of others")
	assert.ErrorIs(t, f.verify(), errBroken)
	require.NoError(t, f.rebuild(nil))
	w.all(false, "made anew")
	w.advertiseBoth()
	w.all(true, "with a lease")
}
