package link

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// Listing is how an IPv4 address is listed. The zero value is how the kernel lists it by itself.
type Listing struct {
	Label string // at most 15 bytes; "": the interface's name
	Scope Scope
}

// Scope is how far an address is valid (rtnetlink(7)).
type Scope uint8

// The scopes that are narrower than the global one, which is the zero Scope.
const (
	ScopeSite Scope = unix.RT_SCOPE_SITE
	ScopeLink Scope = unix.RT_SCOPE_LINK
	ScopeHost Scope = unix.RT_SCOPE_HOST
)

// ListAs says how Add lists addresses from now on. It is called before Add, or beside it; an address that is there already stays as it is.
func (h *Handle) ListAs(all map[netip.Addr]Listing) { h.listings.Store(&all) }

// listingOf is how an address is listed.
func (h *Handle) listingOf(a netip.Addr) Listing {
	if all := h.listings.Load(); all != nil && a.Is4() {
		return (*all)[a]
	}
	return Listing{}
}

// listedAs is an address message with what a Listing adds to it.
func listedAs(msg message, d Listing) message {
	msg[3] = byte(d.Scope) // ifa_scope of struct ifaddrmsg
	if d.Label != "" {
		msg = attribute(msg, unix.IFA_LABEL, append([]byte(d.Label), 0))
	}
	return msg
}
