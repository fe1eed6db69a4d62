package follower

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/members/slots"
)

// counted is what the follower has told the members' publisher of its connections; nil: nothing.
func (b *bench) counted() *uint32 {
	for _, s := range b.members.pub.Subscribers(time.Now(), b.members.group) {
		return s.Connections
	}
	return nil
}

func TestFollowerCountsTheConnectionsToAMemberThatGetsNoNewOnes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.kernel.open = map[netip.Addr]int{ownOf(1): 30, ownOf(2): 7}
		b.start(t.TempDir(), entryOf(), false)
		b.run(3 * time.Second)
		assert.Nil(t, b.counted())
		counts := b.kernel.counts
		assert.Zero(t, counts, "the kernel goes through all that it tracks")

		b.members.expects[0] = slots.Keeps
		b.run(50 * time.Millisecond)
		n := b.counted()
		if assert.NotNil(t, n, "at once") {
			assert.Equal(t, uint32(31), *n, "and one through the listener")
		}
		b.kernel.open = map[netip.Addr]int{}
		b.run(countEvery + 50*time.Millisecond)
		assert.Equal(t, uint32(1), *b.counted())

		b.run(oftenFor)
		counts = b.kernel.counts
		b.run(5 * countSeldom)
		assert.LessOrEqual(t, b.kernel.counts-counts, 6, "one that stays like that is counted seldom")

		b.kernel.uncounted = errors.New("no buffer space")
		b.run(3 * countSeldom)
		assert.Nil(t, b.counted(), "nobody says that there are none")
		assert.Equal(t, 1, strings.Count(b.log.String(), "no buffer space"))
		b.stop()
	})
}
