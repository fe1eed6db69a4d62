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

// A Backup that becomes deaf hears no Active. It finds out before it takes the address, and then takes and says nothing: the healthy holder keeps the address,
// in whatever moment the fault begins, and nobody else answers when it is over.
func TestBackupThatBecomesDeafMovesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		plain  bool
		client bool // has asked by ARP before, which nobody has read yet
		change func(*vrrp.Config)
	}{
		"":                               {},
		"after a client's question":      {client: true},
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
						time.Sleep(6 * time.Second) // nobody waits for an answer any more
						l.asks(clientAddr)
					}
					time.Sleep(time.Duration(random.IntN(2_000_000)) * time.Microsecond)
					l.noArrivals(nodeC, true)
					w := l.watch(8*time.Second, all[nodeA], all[nodeB], all[nodeC])
					assert.Zero(t, l.released(nodeA), "seed %d", seed)
					assert.Zero(t, w.longest, "seed %d", seed)
					assert.Zero(t, w.two, "seed %d", seed)
					assert.Equal(t, code.Deaf, all[nodeC].Status().Fitness.Code, "seed %d", seed)
					l.noArrivals(nodeC, false)
					w = l.watch(3*time.Second, all[nodeA], all[nodeB], all[nodeC])
					assert.Zero(t, w.longest, "seed %d, in the end", seed)
					assert.Zero(t, w.two, "seed %d, in the end", seed)
					assert.NotContains(t, l.what(nodeC), "bind", "seed %d", seed)
					assert.Equal(t, []netip.Addr{nodeA}, holders(all[nodeA], all[nodeB], all[nodeC]), "seed %d", seed)
					stopAll(t, all[nodeA], all[nodeB], all[nodeC])
				})
			}
		})
	}
}

// However short it is deaf: when something arrives again, it hears of the holder before it takes the address.
func TestBackupThatWasDeafForAMomentMovesNothing(t *testing.T) {
	for length := 300 * time.Millisecond; length < time.Second; length += 11 * time.Millisecond {
		bubble.Test(t, func(t *testing.T) {
			l := newLAN()
			l.ask, l.talk = true, true
			all := l.startThree(t, nodeA, nil)
			l.noArrivals(nodeC, true)
			time.Sleep(length)
			l.noArrivals(nodeC, false)
			l.asks(clientAddr)
			w := l.watch(2*time.Second, all[nodeA], all[nodeB], all[nodeC])
			assert.Zero(t, w.longest, "deaf for %v", length)
			assert.Zero(t, w.two, "deaf for %v", length)
			assert.Zero(t, l.released(nodeA), "deaf for %v", length)
			assert.NotContains(t, l.what(nodeC), "bind", "deaf for %v", length)
			stopAll(t, all[nodeA], all[nodeB], all[nodeC])
		})
	}
}

// afterDeath is how long after the last advertisement of the holder, A, which dies, another node has bound the address. dead are the nodes that die with it.
// A client asks for the address from asks on, each 100 ms.
func afterDeath(t *testing.T, seed uint64, ears bool, asks time.Duration, nodes, hosts []netip.Addr, dead ...netip.Addr) (took time.Duration) {
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
		time.Sleep(asks)
		for range 20 {
			l.asks(clientAddr)
			time.Sleep(100 * time.Millisecond)
		}
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

// To find out whether it hears costs a Backup nothing where somebody is left to hear, be it another node, a router or a client: the death of a node is as short
// as without.
func TestNodeDeathIsAsShortForANodeThatLooksWhetherItHears(t *testing.T) {
	three, two, router := []netip.Addr{nodeA, nodeB, nodeC}, []netip.Addr{nodeA, nodeB}, []netip.Addr{gatewayAddr}
	var longest time.Duration
	for seed := range uint64(*simulations) {
		for name, c := range map[string]struct{ nodes, hosts []netip.Addr }{"three": {three, nil}, "two": {two, nil}, "two and a router": {two, router}} {
			usual := afterDeath(t, seed, false, 0, c.nodes, c.hosts)
			assert.Equal(t, usual, afterDeath(t, seed, true, 0, c.nodes, c.hosts), "%s, seed %d", name, seed)
		}
		longest = max(longest, afterDeath(t, seed, true, 0, three, nil, nodeB))
	}
	assert.Less(t, longest, 500*time.Millisecond, "two of three die at the same time")
	t.Log("two of three die at the same time:", longest)
}

// Where everything falls silent but this node, it may be the one that is broken. It takes the address as soon as anybody asks, and after half a minute without that.
func TestNodeThatIsLeftAloneWaitsForAQuestion(t *testing.T) {
	three := []netip.Addr{nodeA, nodeB, nodeC}
	for asks, want := range map[time.Duration][2]time.Duration{
		5 * time.Second:  {5 * time.Second, 6 * time.Second},
		32 * time.Second: {deafWait, deafWait + 700*time.Millisecond},
	} {
		for seed := range uint64(*simulations) {
			took := afterDeath(t, seed, true, asks, three, nil, nodeB)
			assert.GreaterOrEqual(t, took, want[0], "asked after %v, seed %d", asks, seed)
			assert.Less(t, took, want[1], "asked after %v, seed %d", asks, seed)
		}
	}
}
