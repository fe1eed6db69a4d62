package virtualrouter

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/vrrp"
)

// The switch forwards nothing to or from a node that boots, for a while. Nobody is without the address when the port opens.
func TestNodeWhosePortForwardsLateTakesNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		late   netip.Addr
		plain  bool
		change func(*vrrp.Config)
	}{
		{"with the highest address", nodeC, false, nil},
		{"with the lowest address", nodeA, false, nil},
		{"without preemption", nodeC, false, withoutPreemption},
		{"in plain VRRP", nodeC, true, nil},
		{"of two", nodeB, false, nil},
		{"of two, with the lowest address", nodeA, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(*simulations) {
				bubble.Test(t, func(t *testing.T) {
					l := newLAN()
					l.ask, l.talk = true, !c.plain
					random := rand.New(rand.NewPCG(seed, 4))
					var nodes []*member
					for _, a := range []netip.Addr{nodeA, nodeB, nodeC} {
						if a != c.late && !(strings.HasPrefix(c.name, "of two") && a == nodeC) {
							nodes = append(nodes, l.start(t, a, c.change))
							time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond)
						}
					}
					time.Sleep(time.Second)
					l.isolate(c.late, true)
					nodes = append(nodes, l.start(t, c.late, c.change))
					time.Sleep(time.Duration(300+random.IntN(5000)) * time.Millisecond)
					l.isolate(c.late, false)
					w := l.watch(5*time.Second, nodes...)
					assert.Less(t, w.longest, 100*time.Millisecond, "seed %d", seed)
					stopAll(t, nodes...)
				})
			}
		})
	}
}
