package virtualrouter

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/vrrp"
)

// The switch forwards nothing to or from a node that boots, for a while. Nobody is without the address when the port opens.
func TestNodeWhosePortForwardsLateTakesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		late, none netip.Addr // none is not started
		plain      bool
		change     func(*vrrp.Config)
	}{
		"with the highest address":         {late: nodeC},
		"with the lowest address":          {late: nodeA},
		"without preemption":               {late: nodeC, change: withoutPreemption},
		"in plain VRRP":                    {late: nodeC, plain: true},
		"of two, with the highest address": {late: nodeB, none: nodeC},
		"of two, with the lowest address":  {late: nodeA, none: nodeC},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(*simulations) {
				bubble.Test(t, func(t *testing.T) {
					l := newLAN()
					l.ask, l.talk = true, !c.plain
					random := rand.New(rand.NewPCG(seed, 4))
					nodes := l.startOthers(t, random, c.change, c.late, c.none)
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
