package members

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// up starts all nodes, fit, and waits until one holds.
func (l *lan) up() *node {
	l.t.Helper()
	for _, n := range l.nodes {
		n.fit = true
		l.start(n)
	}
	l.run(5*l.interval + 2*time.Second)
	return l.holder()
}

// becomeUnfit makes the node unfit, which it knows at once.
func (l *lan) becomeUnfit(n *node) { n.setFit(false); n.judge() }

func TestLANUnfitHolderPassesTheAddressOn(t *testing.T) {
	for _, interval := range []time.Duration{20 * ms, 100 * ms, time.Second} {
		t.Run(fmt.Sprint(interval), func(t *testing.T) {
			l := newLAN(t, 1, interval, 100, 100, 100)
			h := l.up()
			l.becomeUnfit(h)
			l.run(30 * ms)
			next := l.holder()
			assert.NotEqual(t, h, next)
			assert.Equal(t, 1, l.takes)
			l.run(10 * time.Second)
			h.setFit(true)
			h.judge()
			l.run(10 * time.Second)
			assert.Equal(t, next, l.holder(), "an equal does not take it back")
			assert.Equal(t, 1, l.takes)
		})
	}
}

func TestLANHigherPriorityAsks(t *testing.T) {
	l := newLAN(t, 1, 100*ms, 100, 150)
	l.nodes[0].fit = true
	l.start(l.nodes[0])
	l.run(2 * time.Second)
	require.Equal(t, l.nodes[0], l.holder())
	l.nodes[1].fit = true
	l.start(l.nodes[1])
	l.run(time.Second)
	assert.Equal(t, l.nodes[1], l.holder())
	assert.Equal(t, 1, l.takes)
}

func TestLANAllUnfitNothingMoves(t *testing.T) {
	l := newLAN(t, 1, 100*ms, 100, 100, 100)
	h := l.up()
	for _, n := range l.nodes {
		n.setFit(false)
	}
	l.run(50 * ms)
	for _, n := range l.nodes { // the holder is the first to notice: the others' probes fail
		n.judge()
		l.run(300 * ms)
	}
	l.run(14 * time.Second)
	require.Equal(t, h, l.holder())
	for i := range l.nodes { // and the last to recover
		n := l.nodes[(i+1)%3]
		n.setFit(true)
		n.judge()
		l.run(1500 * ms)
	}
	l.run(10 * time.Second)
	assert.Equal(t, h, l.holder())
	assert.Zero(t, l.takes)
}

func TestLANFirstThatRecoversGetsItAfterAWhile(t *testing.T) {
	l := newLAN(t, 1, 100*ms, 100, 100, 100)
	h := l.up()
	for _, n := range l.nodes {
		l.becomeUnfit(n)
	}
	l.run(5 * time.Second)
	n := l.nodes[0]
	if n == h {
		n = l.nodes[1]
	}
	n.setFit(true)
	n.judge()
	l.run(4900 * ms)
	assert.Equal(t, h, l.holder())
	l.run(200 * ms)
	assert.Equal(t, n, l.holder())
	assert.Equal(t, 1, l.takes)
}

// The one that takes, or the one that gives, dies after each single event of the handover.
func TestLANKilledAtEachStep(t *testing.T) {
	for _, interval := range []time.Duration{20 * ms, 100 * ms, time.Second} {
		for _, who := range []string{"requester", "holder"} {
			t.Run(fmt.Sprint(who, " ", interval), func(t *testing.T) {
				for at := time.Duration(0); at < 30*ms; at += ms / 4 {
					killedAt(t, interval, who, at)
				}
			})
		}
	}
}

func killedAt(t *testing.T, interval time.Duration, who string, at time.Duration) {
	t.Helper()
	l := newLAN(t, 3, interval, 100, 100, 100)
	h := l.up()
	victim := h
	if who == "requester" { // among equals the one with the higher address is chosen
		victim = l.nodes[2]
		if h == victim {
			victim = l.nodes[1]
		}
	}
	l.becomeUnfit(h)
	l.run(at)
	l.kill(victim)
	l.run(victim.down() + interval/8 + 20*ms)
	require.NotEqual(t, victim, l.holder(), "killed after %v", at)
	l.run(10 * time.Second)
	assert.True(t, l.holder().fit)
}

func TestLANEachMessageLost(t *testing.T) {
	for lost := range 40 {
		l := newLAN(t, uint64(lost), 100*ms, 100, 100, 100)
		h := l.up()
		l.becomeUnfit(h)
		l.run(time.Duration(lost) * ms / 2)
		l.loss, l.quiet = 1, false
		l.run(ms)
		l.loss = 0
		l.run(time.Second)
		assert.NotEqual(t, h, l.holder(), "what was sent after %v was lost", time.Duration(lost)*ms/2)
	}
}

// Everything happens to up to five nodes: in the end one of the fittest holds, and never does one take from one that
// still answers.
func TestLANRandom(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			randomRun(t, seed)
		})
	}
}

func randomRun(t *testing.T, seed uint64) {
	l := newLAN(t, seed, []time.Duration{20 * ms, 100 * ms, time.Second}[seed%3], 100, 100, 100, 100, 100)
	if seed%2 == 0 {
		for _, n := range l.nodes {
			n.base = uint8(2 + l.rng.IntN(250))
		}
	}
	l.quiet = false // two may start as the Active
	l.up()
	l.delay = l.draw(time.Duration(1+l.rng.IntN(8)) * l.interval)
	for range 20 {
		l.fault()
		l.run(l.draw(4 * l.interval))
	}
	l.loss, l.delay = 0, l.interval/200
	l.run(8 * l.interval) // what is late comes in
	for _, n := range l.nodes {
		n.side = 0
		if n.m == nil {
			l.start(n)
		}
		n.judge()
	}
	l.run(9 * time.Second)
	l.quiet = true
	l.run(2 * time.Second)
	h := l.holder()
	for _, n := range l.nodes {
		if n.told && (!h.told || n.base > h.base) {
			l.fail("%s holds, %s would be better", h.name, n.name)
		}
	}
}

func (l *lan) fault() {
	n := l.nodes[l.rng.IntN(len(l.nodes))]
	if n.m == nil {
		l.start(n)
		return
	}
	switch l.rng.IntN(6) {
	case 0:
		l.kill(n)
	case 1, 2:
		n.setFit(!n.fit)
		l.run(l.draw(l.interval))
		n.judge()
	case 3:
		l.loss = l.rng.Float64() / 2
	case 4:
		for _, n := range l.nodes {
			n.side = l.rng.IntN(2)
		}
		l.note("split")
	default:
		l.loss = 0
		for _, n := range l.nodes {
			n.side = 0
		}
		l.note("joined")
	}
}
