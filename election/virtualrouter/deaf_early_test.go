package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

// A node that becomes deaf soon after the start, when it has just heard of the others, comes last as well.
func TestNodeThatIsDeafSoonAfterTheStartComesLast(t *testing.T) {
	wait := func(c *vrrp.Config) { c.Preempt = false }
	for _, c := range []struct {
		name        string
		first, deaf netip.Addr
		plain       bool
		change      func(*vrrp.Config)
	}{
		{"a backup with the highest address", nodeA, nodeC, false, nil},
		{"the holder", nodeA, nodeA, false, nil},
		{"a backup without preemption", nodeA, nodeC, false, wait},
		{"a backup in plain VRRP", nodeA, nodeC, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for after := time.Duration(0); after < 5*time.Second; after += early(after) {
				t.Run(after.String(), func(t *testing.T) {
					bubble.Test(t, func(t *testing.T) {
						l := newLAN()
						l.ask, l.talk = true, !c.plain
						all := map[netip.Addr]*member{c.first: l.start(t, c.first, c.change)}
						time.Sleep(600 * time.Millisecond)
						for _, a := range []netip.Addr{nodeA, nodeB, nodeC} {
							if a != c.first {
								all[a] = l.start(t, a, c.change)
							}
						}
						nodes := []*member{all[nodeA], all[nodeB], all[nodeC]}
						time.Sleep(after)
						l.noArrivals(c.deaf, true)
						w := l.watch(6*time.Second, nodes...)
						assert.Less(t, w.longest, time.Second, "deaf after %v", after)
						assert.Zero(t, w.two, "deaf after %v", after)
						stopAll(t, nodes...)
					})
				})
			}
		})
	}
}

// early is the time between two moments that are tried: they are closest in the first moments, in which a node gets to know the others.
func early(after time.Duration) time.Duration {
	step := 50 * time.Millisecond
	if after < 300*time.Millisecond {
		step = 7 * time.Millisecond
	}
	if *simulations < 100 {
		step *= 5
	}
	return step
}

// A node that has the address by a GRANT has heard the holder: it advertises its own priority from the first moment.
func TestNodeThatIsGrantedTheAddressDoesNotComeLast(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.ask, l.talk = true, true
		a, c := l.start(t, nodeA, nil), l.start(t, nodeC, nil)
		time.Sleep(3 * time.Second)
		b := l.start(t, nodeB, func(c *vrrp.Config) { c.Priority = 150 })
		time.Sleep(time.Second)
		assert.True(t, b.holds())
		assert.Equal(t, string(vrrp.ReasonGranted), b.last().Reason)
		assert.Equal(t, code.HigherPriority, c.last().Code, "who looks on: %+v", c.last())
		stopAll(t, a, b, c)
	})
}
