//go:build netns

package spreadtables

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members/slots"
)

// TestFlushDoesNothingToTablesThatAreOwned, to those of the receiver and of the member.
func TestFlushDoesNothingToTablesThatAreOwned(t *testing.T) {
	l := newLab(t)
	l.owned(1, slots.None)
	c := l.dial(l.client, both["IPv4"])
	for _, n := range l.members[:2] {
		n.Enter()
		require.NoError(t, exec.Command("nft", "flush ruleset").Run())
		mended, err := n.tables.Mend()
		require.NoError(t, err)
		assert.False(t, mended)
	}
	c.goesOn("after a flush on both")
}
