package raft

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
)

// simulationSeeds is how many seeds a simulation has: RAFT_SEEDS, or what is enough for every day.
func simulationSeeds(everyDay int) int {
	if n, err := strconv.Atoi(os.Getenv("RAFT_SEEDS")); err == nil {
		return n
	}
	return everyDay
}

// simulations runs a simulation with many seeds, or with RAFT_SEED alone: it decides the faults and their moments. The library
// has a source of randomness of its own besides.
func simulations(t *testing.T, everyDay int, run func(t *testing.T, seed int)) {
	seeds, first := simulationSeeds(everyDay), 0
	if n, err := strconv.Atoi(os.Getenv("RAFT_SEED")); err == nil {
		seeds, first = 1, n
	}
	for seed := first; seed < first+seeds; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) { run(t, seed) })
		})
	}
}

const (
	// share is the virtual time of a seed: a thousand of them are twelve hours.
	share = 12 * time.Hour / 1000
	// patience is how long a majority that is connected may be without a holder.
	patience = 5 * time.Second
)

// TestNodesUnderRandomFaults: at no millisecond do two nodes answer, no member votes twice in a term, and whenever a majority
// is connected for a while there is a holder.
func TestNodesUnderRandomFaults(t *testing.T) { simulations(t, 3, simulate) }

// storm is a cluster under random faults.
type storm struct {
	*lan
	r     *rand.Rand
	nodes int
	since map[uint]time.Time // when a set of nodes, a majority, was connected at last
	quiet time.Time          // since when nobody holds
	worst time.Duration
}

func simulate(t *testing.T, seed int) {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	s := &storm{lan: newLan(t, 3+2*r.IntN(2)), r: r, since: map[uint]time.Time{}}
	s.nodes = len(s.hosts)
	defer s.stopAll()
	s.rand = rand.New(rand.NewPCG(uint64(seed), 8))
	for _, i := range r.Perm(s.nodes) {
		s.hosts[addr(i)].boot()
	}
	s.await(5 * time.Second)
	for end := time.Now().Add(share); time.Now().Before(end); {
		s.strike()
		s.look(time.Duration(50+r.IntN(2000)) * time.Millisecond)
	}
	s.heal()
	s.look(patience + 5*time.Second)
	t.Log("longest without a holder beside a connected majority:", s.worst)
}

// look watches every millisecond for so long.
func (s *storm) look(d time.Duration) {
	s.t.Helper()
	s.note()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if len(s.answering()) > 0 {
			s.quiet = time.Now()
		}
		for set, since := range s.since {
			if since.Before(s.quiet) {
				since = s.quiet
			}
			if alone := time.Since(since); alone > s.worst {
				s.worst = alone
				require.Lessf(s.t, alone, patience, "no holder, but the majority %b is connected%s", set, s.states())
			}
		}
	}
}

// states is what each node knows, for the reader of a failure.
func (s *storm) states() string {
	var b strings.Builder
	for i := range s.nodes {
		h := s.hosts[addr(i)]
		fmt.Fprintf(&b, "\n%v: frozen %v, voters %v", h.node.cluster.self(), h.isFrozen(), h.node.cluster.voters())
		if r := h.node.cluster.library.Load(); r != nil {
			now := r.Stats()
			fmt.Fprintf(&b, ", %s in term %s, log %s/%s", now["state"], now["term"], now["last_log_term"], now["last_log_index"])
		}
	}
	return b.String()
}

// note looks which majorities are connected, after a strike.
func (s *storm) note() {
	for set := uint(1); set < 1<<s.nodes; set++ {
		switch _, before := s.since[set]; {
		case bits.OnesCount(set) <= s.nodes/2 || !s.connected(set):
			delete(s.since, set)
		case !before:
			s.since[set] = time.Now()
		}
	}
}

// connected tells whether the nodes of a set run, can vote, and reach each other without loss.
func (s *storm) connected(set uint) bool {
	var in []netip.Addr
	for i := range s.nodes {
		if h := s.hosts[addr(i)]; set>>i&1 == 1 {
			if h.isFrozen() || !h.node.cluster.voice() {
				return false
			}
			in = append(in, h.self)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range in {
		for _, b := range in {
			if s.cut[[2]netip.Addr{a, b}] {
				return false
			}
		}
	}
	return s.loss == 0
}

// strike makes one fault, or heals what is broken.
func (s *storm) strike() {
	a, b := addr(s.r.IntN(s.nodes)), addr(s.r.IntN(s.nodes))
	h := s.hosts[a]
	switch s.r.IntN(14) {
	case 0, 1:
		s.isolate(a, true)
	case 2:
		s.setCut(a, b, true)
	case 3, 4, 5:
		s.heal()
	case 6:
		s.mu.Lock()
		s.loss = 0.3 * s.r.Float64()
		s.mu.Unlock()
	case 7, 8:
		h.crash()
		h.boot()
	case 9: // in order, then it comes back
		h.freeze(false)
		h.stop()
		h.boot()
	case 10:
		h.fit(election.Fitness{Less: 255, Reason: "the health check fails"})
	case 11:
		h.freeze(true)
	case 12:
		h.fit(election.Fitness{})
	case 13:
		s.reinstall(h)
	}
}

// reinstall takes a node's disk away, if all have a vote: more than one at a time would be the end of the cluster.
func (s *storm) reinstall(h *host) {
	for _, other := range s.hosts {
		if !other.node.cluster.voice() || len(other.node.cluster.voters()) < s.nodes {
			return
		}
	}
	h.crash()
	h.disk = emptyDisk()
	h.boot()
}

func (l *lan) heal() {
	for _, h := range l.hosts {
		if h.node != nil {
			h.freeze(false)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loss = 0
	l.cut = map[[2]netip.Addr]bool{}
}
