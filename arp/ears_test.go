package arp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Who takes over an address because nobody answers for it has to have asked: without a question silence proves nothing.
func TestEarsThatCannotAskTakeSomebodyToAnswer(t *testing.T) {
	closed := &Ears{from: netip.MustParseAddr("192.0.2.1"), fd: -1}
	assert.True(t, closed.Answers(netip.MustParseAddr("192.0.2.9"), 2, time.Millisecond))
}
