package envelope

import (
	"net/netip"
	"unicode"
	"unicode/utf8"
)

// Text tells whether s has at most so many bytes, and may be shown to an operator as it is.
func Text(s string, most int) bool {
	if len(s) > most || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Plain tells whether a is an address that the wire can carry.
func Plain(a netip.Addr) bool {
	return a.IsValid() && !a.Is4In6() && a.Zone() == "" && !a.IsUnspecified()
}

// Host tells whether a can be the address of another host, to which connections are made.
func Host(a netip.Addr) bool {
	return Plain(a) && !a.IsMulticast() && !a.IsLoopback() && a != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// Addr reads an address, and tells whether it is [Plain].
func Addr(b []byte) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(b)
	return a, ok && Plain(a)
}
