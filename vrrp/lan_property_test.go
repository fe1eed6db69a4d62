package vrrp

import (
	"fmt"
	"testing"
	"time"
)

// TestMachineRandomLAN does random things to up to five machines; the lan's invariants must hold whenever the link has
// had the time to settle. The seed is in the subtest's name.
func TestMachineRandomLAN(t *testing.T) {
	for seed := range uint64(400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			randomRun(newLAN(t, seed))
		})
	}
}

// randomRun alternates faults and quiet times, and ends with everybody on and connected.
func randomRun(l *lan) {
	randomNodes(l)
	for _, h := range l.hosts {
		l.start(h)
		l.run(l.draw(time.Second))
	}
	for range 25 {
		randomFault(l)
		l.run(l.draw(4 * l.settle()))
	}
	for _, h := range l.hosts {
		if h.m == nil {
			l.start(h)
		}
	}
	l.run(3 * l.settle())
	l.watch.check(l)
}

// randomNodes draws two to five nodes: an interval for all, distinct or equal priorities, preemption for all or none.
func randomNodes(l *lan) {
	cfg := base()
	cfg.Interval = randomInterval(l)
	cfg.Preempt = l.rng.IntN(2) == 0
	shortest := 20 * ms
	if l.rng.IntN(4) == 0 {
		cfg.Version, cfg.Interval, shortest = 2, time.Second, time.Second
	}
	l.delay, l.late = l.draw(shortest/10), l.draw(shortest/10)
	equal := l.rng.IntN(2) == 0
	count := 2 + l.rng.IntN(4)
	for i := range count {
		if !equal {
			cfg.Priority = uint8(1 + l.rng.IntN(254))
		}
		tieBreakDelay := time.Duration(i) * cfg.Interval / tieBreakShare / time.Duration(count)
		l.add(fmt.Sprint("n", i), cfg, tieBreakDelay)
	}
}

func randomInterval(l *lan) time.Duration {
	return []time.Duration{20 * ms, 100 * ms, time.Second}[l.rng.IntN(3)]
}

// randomFault does one thing and, where it has a duration, undoes it.
func randomFault(l *lan) {
	h := l.hosts[l.rng.IntN(len(l.hosts))]
	length := l.draw(2 * l.settle())
	if h.m == nil {
		l.start(h)
		return
	}
	switch l.rng.IntN(8) {
	case 0:
		l.stop(h)
	case 1:
		l.kill(h)
	case 2:
		l.freeze(h)
		l.run(length)
		l.thaw(h)
	case 3:
		l.pause(h)
		l.run(length)
		l.thaw(h)
	case 4:
		l.setLoss(l.rng.Float64() / 2)
		l.run(length)
		l.setLoss(0)
	case 5:
		l.setPriority(h, uint8(1+l.rng.IntN(254)))
	case 6:
		if h.cfg.Version == 3 {
			l.setInterval(h, randomInterval(l))
		}
	default:
		sides := map[*host]int{}
		for _, h := range l.hosts {
			sides[h] = l.rng.IntN(3)
		}
		l.split(sides)
		l.run(length)
		l.split(nil)
	}
}
