//go:build netns

package subscription

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/members/envelope"
)

// Hundreds of followers whose hosts are gone at once, as after a power cut: what is for them waits in the kernel until it knows that nobody answers,
// for seconds. Who tells them must not wait as long.
func TestSendDoesNotWaitForHostsThatDoNotAnswer(t *testing.T) {
	space := netnstest.New(t)
	space.Pair("eth0", space, "eth1")
	space.Has("eth0", "10.77.0.11/16", "fd77::11/64")
	for _, first := range []netip.Addr{netip.MustParseAddr("10.77.1.1"), netip.MustParseAddr("fd77::1:1")} {
		l, err := listen(9646, first.Is4(), 0)
		require.NoError(t, err)
		defer func() { assert.NoError(t, l.close()) }()
		data := make([]byte, envelope.MaxMessage)
		refused, quickest, a := 0, time.Hour, first
		for range 1000 {
			began := time.Now()
			if _, err := l.send([]Outgoing{{Data: data, To: netip.AddrPortFrom(a, 40000)}}); err != nil {
				refused++
				quickest = min(quickest, time.Since(began))
			}
			a = a.Next()
		}
		assert.NotZero(t, refused, "the queue was full, and nobody waited until it was not")
		assert.Less(t, quickest, 100*time.Millisecond)
	}
}
