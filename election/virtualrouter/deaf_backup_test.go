package virtualrouter

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

var clientAddr = netip.MustParseAddr("10.77.0.200")

// released tells how often a node has let go of the address.
func (l *lan) released(node netip.Addr) (n int) {
	for _, what := range l.what(node) {
		if what == "release" {
			n++
		}
	}
	return n
}

// A Backup that becomes deaf hears no Active. It finds out before it takes the address, and so comes last: the healthy holder keeps the address, in whatever
// moment the fault begins.
func TestBackupThatBecomesDeafMovesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		plain  bool
		client bool // asks by ARP all the time
		change func(*vrrp.Config)
	}{
		"":                               {},
		"beside a client":                {client: true},
		"without preemption":             {change: withoutPreemption},
		"in plain VRRP":                  {plain: true},
		"advertisements every 40 ms":     {change: func(c *vrrp.Config) { c.Interval = 40 * time.Millisecond }},
		"advertisements every second":    {change: func(c *vrrp.Config) { c.Interval = time.Second }},
		"its priority is higher, by one": {change: func(c *vrrp.Config) { c.Preempt, c.Priority = false, c.Priority+c.Source.As4()[3]/13 }},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(*simulations) {
				bubble.Test(t, func(t *testing.T) {
					l := newLAN()
					l.ask, l.talk = true, !c.plain
					all := l.startThree(t, nodeA, c.change)
					random := rand.New(rand.NewPCG(seed, 4))
					if c.client {
						for range 100 {
							time.Sleep(100 * time.Millisecond)
							l.asks(clientAddr)
						}
					}
					time.Sleep(time.Duration(random.IntN(2_000_000)) * time.Microsecond)
					l.noArrivals(nodeC, true)
					w := l.watch(8*time.Second, all[nodeA], all[nodeB], all[nodeC])
					assert.Zero(t, l.released(nodeA), "seed %d", seed)
					assert.Zero(t, w.longest, "seed %d", seed)
					assert.Zero(t, w.two, "seed %d", seed)
					assert.Equal(t, code.Deaf, all[nodeC].Status().Fitness.Code, "seed %d", seed)
					l.noArrivals(nodeC, false)
					time.Sleep(3 * time.Second)
					assert.Equal(t, []netip.Addr{nodeA}, holders(all[nodeA], all[nodeB], all[nodeC]), "seed %d", seed)
					stopAll(t, all[nodeA], all[nodeB], all[nodeC])
				})
			}
		})
	}
}

// afterDeath is how long after the last advertisement of the holder, A, which dies, another node has bound the address. dead are the nodes that die with it.
func afterDeath(t *testing.T, seed uint64, ears bool, nodes, hosts []netip.Addr, dead ...netip.Addr) (took time.Duration) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.ask, l.talk, l.hosts = ears, true, hosts
		var all []*member
		for _, a := range nodes {
			all = append(all, l.start(t, a, nil))
			time.Sleep(2 * time.Second)
		}
		random := rand.New(rand.NewPCG(seed, 5))
		time.Sleep(30*time.Second + time.Duration(random.IntN(2_000_000))*time.Microsecond)
		at, sent := time.Now(), time.Time{}
		for _, a := range append(dead, nodeA) {
			l.isolate(a, true)
		}
		time.Sleep(2 * time.Second)
		l.mu.Lock()
		for _, e := range l.log {
			switch {
			case e.what == "send 1" && e.node == nodeA && !e.at.After(at):
				sent = e.at
			case e.what == "bind" && e.at.After(at) && took == 0:
				took = e.at.Sub(sent)
			}
		}
		l.mu.Unlock()
		stopAll(t, all...)
	})
	return took
}

// To find out whether it hears costs a Backup nothing where somebody is left to hear, be it another node or a router: the death of a node is as short as
// without. Where everything falls silent but this node, it takes as long as the proof does.
func TestNodeDeathIsAsShortForANodeThatLooksWhetherItHears(t *testing.T) {
	three, two, router := []netip.Addr{nodeA, nodeB, nodeC}, []netip.Addr{nodeA, nodeB}, []netip.Addr{gatewayAddr}
	var longest time.Duration
	for seed := range uint64(*simulations) {
		for name, c := range map[string]struct{ nodes, hosts []netip.Addr }{"three": {three, nil}, "two": {two, nil}, "two and a router": {two, router}} {
			usual := afterDeath(t, seed, false, c.nodes, c.hosts)
			assert.Equal(t, usual, afterDeath(t, seed, true, c.nodes, c.hosts), "%s, seed %d", name, seed)
		}
		longest = max(longest, afterDeath(t, seed, true, three, nil, nodeB))
	}
	assert.Less(t, longest, 500*time.Millisecond, "two of three die at the same time")
	t.Log("two of three die at the same time:", longest)
}
