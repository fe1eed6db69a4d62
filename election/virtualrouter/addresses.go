package virtualrouter

import (
	"net/netip"
	"slices"
	"strings"
)

// sameAddresses tells whether both lists have the same addresses, in whatever order.
func sameAddresses(a, b []netip.Addr) bool {
	if slices.Equal(a, b) {
		return true
	}
	within := func(x, y []netip.Addr) bool {
		return !slices.ContainsFunc(x, func(addr netip.Addr) bool { return !slices.Contains(y, addr) })
	}
	return within(a, b) && within(b, a)
}

// maxShown is how many addresses a line shows.
const maxShown = 8

func joinAddresses(list []netip.Addr) string {
	var out []string
	for i, a := range list {
		if i == maxShown {
			out = append(out, "...")
			break
		}
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}
