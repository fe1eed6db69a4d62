package intercept

import (
	"cmp"
	"slices"
)

// usual are the backends of a target that get new connections, each once, in an order that does not depend on that of the configuration.
func (t Target) usual() []Backend {
	var out []Backend
	for _, b := range t.Backends {
		if b.Weight > 0 && b.Address.Is4() == t.Address.Is4() {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b Backend) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port), cmp.Compare(b.Weight, a.Weight))
	})
	return slices.CompactFunc(out, func(a, b Backend) bool { return a.Address == b.Address && a.Port == b.Port })
}

// turns says who gets one connection after the other: each backend as often as its weight says, and as evenly in between as that allows. The
// order begins at start, which should be another one at each host: else those that make one connection only would all make it to the first.
func turns(backends []Backend, start uint32) []Backend {
	total, divisor := 0, 0
	for _, b := range backends {
		total, divisor = total+int(b.Weight), gcd(divisor, int(b.Weight))
	}
	if total == 0 {
		return nil
	}
	out := make([]Backend, total/divisor)
	current := make([]int, len(backends))
	for i := range out {
		next := 0
		for j, b := range backends {
			if current[j] += int(b.Weight); current[j] > current[next] {
				next = j
			}
		}
		current[next] -= total
		out[(i+int(start%uint32(len(out))))%len(out)] = backends[next]
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
