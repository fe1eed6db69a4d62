package localproxy

import (
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/base/roundrobin"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
)

// turns say which server is next.
type turns struct {
	backends []intercept.Backend
	round    []int // of backends
	place    int   // of the next one in round
}

// set begins anew with other backends, somewhere in the round.
func (t *turns) set(backends []intercept.Backend) {
	backends = slices.DeleteFunc(slices.Clone(backends), func(b intercept.Backend) bool { return b.Weight == 0 })
	if slices.Equal(backends, t.backends) {
		return
	}
	var weights []uint8
	for _, b := range backends {
		weights = append(weights, b.Weight)
	}
	t.backends, t.round, t.place = backends, roundrobin.Order(weights), 0
	if len(t.round) > 0 {
		t.place = rand.IntN(len(t.round))
	}
}

// next are all of them: the one whose turn it is, and the others behind it.
func (t *turns) next() []netip.AddrPort {
	if len(t.round) == 0 {
		return nil
	}
	first := t.round[t.place]
	t.place = (t.place + 1) % len(t.round)
	out := make([]netip.AddrPort, len(t.backends))
	for i := range out {
		out[i] = t.backends[(first+i)%len(out)].At
	}
	return out
}
