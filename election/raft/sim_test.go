package raftelection

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
)

// TestNodesUnderRandomFaults: at no millisecond do two nodes answer, and there is a holder again soon after the faults are
// over. RAFT_SEEDS says how many runs, RAFT_SEED which one alone.
func TestNodesUnderRandomFaults(t *testing.T) {
	seeds, first := 6, 0
	if n, err := strconv.Atoi(os.Getenv("RAFT_SEEDS")); err == nil {
		seeds = n
	}
	if n, err := strconv.Atoi(os.Getenv("RAFT_SEED")); err == nil {
		seeds, first = 1, n
	}
	for seed := first; seed < first+seeds; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
	}
}

func simulate(t *testing.T, seed int) {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	nodes := 3 + 2*r.IntN(2)
	l := newLan(t, nodes)
	defer l.stopAll()
	l.rand = rand.New(rand.NewPCG(uint64(seed), 8))
	for _, i := range r.Perm(nodes) {
		l.hosts[addr(i)].boot()
	}
	l.await(5 * time.Second)
	for range 20 {
		l.strike(r, nodes)
		l.watch(time.Duration(50+r.IntN(2000)) * time.Millisecond)
	}
	l.heal()
	_, took := l.await(10 * time.Second)
	t.Log("a holder after", took)
	require.Less(t, l.watch(5*time.Second), 4*time.Second)
}

// strike makes one fault, or heals what is broken.
func (l *lan) strike(r *rand.Rand, nodes int) {
	a, b := addr(r.IntN(nodes)), addr(r.IntN(nodes))
	h := l.hosts[a]
	switch r.IntN(11) {
	case 0, 1:
		l.isolate(a, true)
	case 2:
		l.setCut(a, b, true)
	case 3, 4:
		l.heal()
	case 5:
		l.mu.Lock()
		l.loss = 0.3 * r.Float64()
		l.mu.Unlock()
	case 6: // a crash: nobody hears anything of it, and it comes back with its disk
		h.freeze(false)
		l.isolate(a, true)
		h.stop()
		h.boot()
		l.isolate(a, false)
	case 7:
		h.fit(election.Fitness{Less: 255, Reason: "the health check fails"})
	case 8, 9:
		h.freeze(true)
	case 10:
		h.fit(election.Fitness{})
	}
}

func (l *lan) heal() {
	for _, h := range l.hosts {
		h.freeze(false)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loss = 0
	l.cut = map[[2]netip.Addr]bool{}
}
