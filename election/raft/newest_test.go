package raft

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// The leader writes an entry that it can give to nobody who is there afterwards: of the majority that is left it has the newest log, and nobody else can
// be elected. The others stand, too, as soon as they miss it.
func TestNodeWithTheNewestLogIsElectedWhoeverElseStands(t *testing.T) {
	for i := range 100 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLan(t, 5)
				defer l.stopAll()
				l.settle()
				leader, _ := l.await(time.Second)
				var others []*host
				for _, h := range l.hosts {
					if h != leader {
						others = append(others, h)
					}
				}
				stay := others[:2]
				for _, h := range others[2:] {
					l.isolate(h.self, true)
				}
				cut := func(on bool) {
					for _, h := range stay {
						l.setCut(leader.self, h.self, on)
						l.setCut(h.self, leader.self, on)
					}
				}
				cut(true)
				entry := leader.node.cluster.library.Load().Apply([]byte(`{"invite":"10.77.0.99"}`), time.Second)
				time.Sleep(2*l.heartbeat + time.Duration(i)*5*time.Millisecond)
				cut(false)
				require.Error(t, entry.Error(), "nobody has it")
				_, took := l.await(10 * time.Second)
				assert.Less(t, took, 3*time.Second, "a few elections")
			})
		})
	}
}
