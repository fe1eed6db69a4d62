//go:build netns

package spreadtables

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members/slots"
)

// TestPokedClientAnswersEachTime: the answer to the first one goes to a member that knows the connection, as to one that is dead, and the next one
// follows at once.
func TestPokedClientAnswersEachTime(t *testing.T) {
	l := newLab(t)
	for name, vip := range both {
		l.owned(1, slots.None)
		c := l.dial(l.client, vip)
		require.Equal(t, 1, c.member, name)
		at := c.LocalAddr().(*net.TCPAddr).AddrPort()
		poke := func() {
			l.members[2].In(func() {
				require.NoError(t, Poke([]Client{{At: at, To: netip.AddrPortFrom(vip, front)}}), name)
			})
		}
		poke()
		c.goesOn(name)
		time.Sleep(250 * time.Millisecond) // what the client says by itself, as acknowledgments that it has put off, is over
		without := ownedBy(2, slots.None)
		without.Next = []uint8{2, 2, 0} // nobody asks the dead
		l.spread(without)
		poke()
		_, err := c.Read(make([]byte, 1))
		assert.True(t, refused(err), "%s: %v", name, err)
	}
}
