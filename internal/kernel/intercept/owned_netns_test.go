//go:build netns

package intercept

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// TestFlushDoesNothingToTablesThatAreOwned: connections that were translated go on.
func TestFlushDoesNothingToTablesThatAreOwned(t *testing.T) {
	l := newLab(t)
	l.only(1)
	c := l.dial(l.host, both["IPv4"])
	l.host.Enter()
	nft(t, "flush ruleset")
	c.goesOn("after a flush")
	assert.Equal(t, 1, l.dial(l.host, both["IPv4"]).server)
}

// TestWatchedTablesAreMadeAnew on a kernel where nobody can own them, and nobody renews.
func TestWatchedTablesAreMadeAnew(t *testing.T) {
	onAnOlderKernel(t)
	l := newLab(t)
	l.host.Enter()
	watch, err := nfttables.OpenWatch()
	require.NoError(t, err)
	defer watch.Close()
	l.table, err = Open("api", watch)
	require.NoError(t, err)
	l.only(1)
	for _, command := range []string{"flush ruleset", "delete table ip keepvip-intercept-api"} {
		nft(t, command)
		l.host.Eventually(func() bool { return strings.Contains(nft(t, "list", "tables"), "ip "+tablePrefix+"api") }, command)
		assert.Equal(t, 1, l.dial(l.host, both["IPv4"]).server, command)
	}
	require.NoError(t, l.table.Close())
}
