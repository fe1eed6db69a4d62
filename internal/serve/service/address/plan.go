package address

import "net/netip"

// holding says what an instance wants of its addresses.
type holding uint8

const (
	holdNone holding = iota // on no interface
	holdKeep                // leave what is at the place, add nothing: nobody is known to have it
	holdBind                // at the place, and nowhere else
)

// change is one step towards what is wanted.
type change struct {
	add bool
	Binding
}

// plan turns have into what is wanted, the removals first: an address must not be at two interfaces.
func plan(want holding, index int, addresses []netip.Prefix, have []Binding) []change {
	listed, there := setOf(addresses), setOf(have)
	var out []change
	for _, b := range have {
		wrong := b.Index != index || want == holdBind && !listed[b.Prefix]
		if want == holdNone || wrong {
			out = append(out, change{Binding: b})
		}
	}
	if want != holdBind {
		return out
	}
	for _, p := range addresses {
		if b := (Binding{Index: index, Prefix: p}); !there[b] {
			out = append(out, change{add: true, Binding: b})
		}
	}
	return out
}

// setOf makes looking up one of a thousand cheap.
func setOf[T comparable](list []T) map[T]bool {
	set := make(map[T]bool, len(list))
	for _, v := range list {
		set[v] = true
	}
	return set
}
