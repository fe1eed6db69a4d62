//go:build netns

package spreadtables

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/members/slots"
)

// TestFlushDoesNothingToTablesThatAreOwned, to those of the receiver and of the member.
func TestFlushDoesNothingToTablesThatAreOwned(t *testing.T) {
	l := newLab(t)
	l.owned(1, slots.None)
	c := l.dial(l.client, both["IPv4"])
	for _, n := range l.members[:2] {
		n.Enter()
		before := n.tables.made
		require.NoError(t, exec.Command("nft", "flush ruleset").Run())
		mended, err := n.tables.Mend()
		require.NoError(t, err)
		assert.False(t, mended)
		assert.Equal(t, before, n.tables.made)
	}
	c.goesOn("after a flush on both")
}

// TestWatchedTablesAreMadeAnew on a kernel where nobody can own them, and nobody asks Mend.
func TestWatchedTablesAreMadeAnew(t *testing.T) {
	onAnOlderKernel(t)
	l := newLab(t)
	n := l.members[0]
	n.Enter()
	watch, err := nfttables.OpenWatch()
	require.NoError(t, err)
	defer watch.Close()
	n.tables, err = Open("api", watch)
	require.NoError(t, err)
	l.owned(1, slots.None)
	n.Enter()
	for _, command := range []string{"flush ruleset", "delete table ip keepvip-spread-api", "delete table netdev keepvip-spread-api"} {
		require.NoError(t, exec.Command("nft", command).Run())
		n.Eventually(func() bool {
			n.tables.mu.Lock()
			defer n.tables.mu.Unlock()
			return n.tables.mended
		}, command)
		mended, err := n.tables.Mend()
		require.NoError(t, err)
		assert.True(t, mended, "who asks is told")
		mended, err = n.tables.Mend()
		require.NoError(t, err)
		assert.False(t, mended, "once")
		assert.Equal(t, 1, l.dial(l.client, both["IPv4"]).member, command)
		n.Enter()
	}
	require.NoError(t, n.tables.Close())
}
