package virtualrouter

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// lanFault is something that happens to a node, and ends.
type lanFault struct {
	kind     string
	costs    time.Duration // for how long nobody may answer because of it, where the node holds the address
	from, to func(l *lan, n netip.Addr)
}

func lanFaults() []lanFault {
	mute := func(on bool) func(l *lan, n netip.Addr) {
		return func(l *lan, n netip.Addr) {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, o := range []netip.Addr{nodeA, nodeB, nodeC} {
				l.mute[[2]netip.Addr{n, o}] = on
			}
		}
	}
	const silent = 400 * time.Millisecond // three intervals and Skew_Time
	return []lanFault{
		{"port cut", silent, func(l *lan, n netip.Addr) { l.isolate(n, true) }, func(l *lan, n netip.Addr) { l.isolate(n, false) }},
		{"deaf", time.Second, func(l *lan, n netip.Addr) { l.noArrivals(n, true) }, func(l *lan, n netip.Addr) { l.noArrivals(n, false) }},
		{"112 lost, out", 0, mute(true), mute(false)},
	}
}

// lanTrouble is a fault of a run.
type lanTrouble struct {
	lanFault
	node     netip.Addr
	at, ends time.Duration
	held     bool
}

func (h lanTrouble) String() string {
	return fmt.Sprintf("%s on %v from %v to %v, held %v", h.kind, h.node, h.at, h.ends, h.held)
}

// What happens to nodes, one after another or at a time, leaves the address to nobody for no longer than its parts may take.
func TestFaultsOfALANCostNoMoreThanTheirParts(t *testing.T) {
	for _, many := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d at a time", many), func(t *testing.T) {
			for seed := range uint64(*simulations) * 4 {
				bubble.Test(t, func(t *testing.T) { faultsOfALAN(t, seed, many) })
			}
		})
	}
}

func faultsOfALAN(t *testing.T, seed uint64, many int) {
	l := newLAN()
	l.ask, l.talk = true, true
	random := rand.New(rand.NewPCG(seed, uint64(many)))
	all := l.startThree(t, []netip.Addr{nodeA, nodeB, nodeC}[random.IntN(3)], nil)
	nodes := []*member{all[nodeA], all[nodeB], all[nodeC]}
	var faults []lanTrouble
	for _, i := range random.Perm(3)[:many] {
		kinds := lanFaults()
		h := lanTrouble{lanFault: kinds[random.IntN(len(kinds))], node: nodes[i].self}
		h.at = time.Duration(random.IntN(2000)) * time.Millisecond
		h.ends = h.at + time.Duration(300+random.IntN(4000))*time.Millisecond
		faults = append(faults, h)
	}
	const step, length = time.Millisecond, 12 * time.Second
	var none time.Duration
	for at := time.Duration(0); at < length; at += step {
		for i := range faults {
			switch h := &faults[i]; at {
			case h.at:
				h.held = all[h.node].holds()
				h.from(l, h.node)
			case h.ends:
				h.to(l, h.node)
			}
		}
		if at%(100*step) == 0 {
			l.asks(clientAddr)
		}
		answers := slices.ContainsFunc(nodes, func(o *member) bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return o.holds() && !l.nothing[o.self] && !l.cut[o.self]
		})
		if answers {
			if limit := mayCost(faults, at-none); none > limit {
				assert.Fail(t, "nobody answers", "seed %d: for %v from %v on, %v at most: %v", seed, none, at-none, limit, faults)
			}
			none = 0
		} else {
			none += step
		}
		time.Sleep(step)
	}
	assert.Zero(t, none, "seed %d: nobody answers in the end: %v", seed, faults)
	assert.Len(t, holders(nodes...), 1, "seed %d: %v", seed, faults)
	stopAll(t, nodes...)
}

// mayCost is for how long nobody may answer from then on.
func mayCost(faults []lanTrouble, from time.Duration) time.Duration {
	limit := 20 * time.Millisecond
	for _, h := range faults {
		if (h.held || len(faults) > 1) && from >= h.at && from < h.ends+4*time.Second {
			limit += h.costs
		}
	}
	return limit
}
