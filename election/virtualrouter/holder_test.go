package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestKnownHolderChangesOnceInAWhile(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var h knownHolder
	before, another := h.note(now, nodeB, false)
	assert.True(t, another)
	assert.Equal(t, netip.Addr{}, before)

	_, another = h.note(now.Add(holderGap-1), nodeC, false)
	assert.False(t, another, "too early")
	assert.Equal(t, nodeB, h.address)
	assert.Equal(t, now.Add(holderGap), h.due)
	_, another = h.note(now.Add(holderGap-1), nodeB, false)
	assert.False(t, another)
	assert.Zero(t, h.due, "it is as before")

	before, another = h.note(now.Add(holderGap), nodeC, false)
	assert.True(t, another)
	assert.Equal(t, nodeB, before)
	_, another = h.note(now.Add(holderGap+1), nodeA, true)
	assert.True(t, another, "an Active names itself at once")
}
