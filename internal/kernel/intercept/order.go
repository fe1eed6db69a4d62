package intercept

import (
	"cmp"
	"slices"

	"github.com/keepvip/keepvip/internal/base/roundrobin"
)

// usual are the backends of a target that get new connections, each once, in an order that does not depend on that of the configuration.
func (t Target) usual() []Backend {
	var out []Backend
	for _, b := range t.Backends {
		if b.Weight > 0 && b.At.Addr().Is4() == t.Address.Is4() {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b Backend) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(b.Weight, a.Weight))
	})
	return slices.CompactFunc(out, func(a, b Backend) bool { return a.At == b.At })
}

// turns says who gets one connection after the other. The order begins at start, which should be another one at each host.
func turns(backends []Backend, start uint32) []Backend {
	var weights []uint8
	for _, b := range backends {
		weights = append(weights, b.Weight)
	}
	round := roundrobin.Order(weights)
	out := make([]Backend, len(round))
	for i, next := range round {
		out[(i+int(start%uint32(len(out))))%len(out)] = backends[next]
	}
	return out
}
