package localproxy

import (
	"math/rand/v2"
	"net/netip"
	"slices"
)

// turns say which server is next: each as often as its weight says, and as evenly in between as that allows.
type turns struct {
	backends []Backend
	current  []int
	total    int
}

// set begins anew with other backends, somewhere: hosts that make few connections would all make them to the first else.
func (t *turns) set(backends []Backend) {
	backends = slices.DeleteFunc(slices.Clone(backends), func(b Backend) bool { return b.Weight == 0 })
	if slices.Equal(backends, t.backends) {
		return
	}
	t.backends, t.current, t.total = backends, make([]int, len(backends)), 0
	for _, b := range backends {
		t.total += int(b.Weight)
	}
	if t.total > 0 {
		for range rand.IntN(t.total) {
			t.turn()
		}
	}
}

// next are all of them: the one whose turn it is, and the others behind it.
func (t *turns) next() []netip.AddrPort {
	if len(t.backends) == 0 {
		return nil
	}
	first := t.turn()
	out := make([]netip.AddrPort, len(t.backends))
	for i := range out {
		out[i] = t.backends[(first+i)%len(out)].Address
	}
	return out
}

func (t *turns) turn() (next int) {
	for i, b := range t.backends {
		if t.current[i] += int(b.Weight); t.current[i] > t.current[next] {
			next = i
		}
	}
	t.current[next] -= t.total
	return next
}
