//go:build netns

package netnstests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// Nothing has ever arrived at a node when keepvip starts there, or it becomes deaf in its first moments. It takes the address, since it hears no
// holder, and clients are served by another one all the same.
func TestNodeThatIsDeafFromItsStartComesLast(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	for name, tt := range map[string]struct {
		first bool // the deaf node is the first one, and so the holder, else the last, with the highest address
		after time.Duration
		args  []string
	}{
		"backup, 100 ms after its start": {after: 100 * time.Millisecond},
		"backup in plain VRRP":           {args: []string{"--port", "0"}},
		"holder without preemption":      {first: true, args: []string{"--preempt=false"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := prepare(t, trial.Config{Product: trial.Keepvip{Args: tt.args}})
			nodes := g.Lab.Nodes
			deaf, rest := nodes[len(nodes)-1], nodes[:len(nodes)-1]
			start := func(list ...*lab.Node) {
				for _, n := range list {
					require.NoError(t, g.Start(n))
				}
			}
			active := func(n *lab.Node) bool {
				s, err := trial.Keepvip{}.Status(n)
				return err == nil && s.VIPs[0].State == "active"
			}
			answers := func() bool { return g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, time.Second) }
			if !tt.first {
				start(rest...)
				eventually(t, 10*time.Second, "the address answers", answers)
			}
			if tt.after == 0 {
				require.NoError(t, deaf.LoseAll(lab.In, ""))
			}
			start(deaf)
			if tt.after > 0 {
				settleFor(tt.after)
				require.NoError(t, deaf.LoseAll(lab.In, ""))
			}
			eventually(t, 10*time.Second, "the deaf node takes the address", func() bool { return active(deaf) })
			if tt.first {
				start(rest...)
			}
			eventually(t, 10*time.Second, "another node holds it, too", func() bool { return active(rest[0]) || active(rest[1]) })
			eventually(t, 10*time.Second, "the address answers", answers)
			for range 20 {
				assert.True(t, answers(), "it goes on to answer")
				settleFor(100 * time.Millisecond)
			}
			assert.True(t, active(deaf))
			for _, n := range rest {
				if len(tt.args) < 2 {
					eventually(t, 10*time.Second, "it is named on the others", func() bool { return namesDeaf(n, false) })
				}
			}

			require.NoError(t, deaf.LoseNothing())
			eventually(t, 15*time.Second, "one node holds the address", func() bool {
				bound := 0
				for _, n := range nodes {
					if active(n) {
						bound++
					}
				}
				return bound == 1
			})
			assert.False(t, active(deaf), "the one that was deaf has heard of the holder before it comes first again")
			assert.True(t, answers())
		})
	}
}
