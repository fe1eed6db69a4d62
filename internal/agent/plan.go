package agent

import (
	"net/netip"
	"slices"
)

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
	var out []change
	for _, b := range have {
		wrong := b.Index != index || want == holdBind && !slices.Contains(addresses, b.Prefix)
		if want == holdNone || wrong {
			out = append(out, change{Binding: b})
		}
	}
	if want != holdBind {
		return out
	}
	for _, p := range addresses {
		b := Binding{Index: index, Prefix: p}
		if !slices.Contains(have, b) {
			out = append(out, change{add: true, Binding: b})
		}
	}
	return out
}
