package link

import (
	"net/netip"
	"time"
)

// Leads reports whether p, an address of ours, comes before all of the node's own on l. The kernel then prefers it as a source where no subnet
// decides, and programs that look for the node's address find it first. It happens when the node's own address is taken away and put back
// behind ours (a DHCP lease that was lost, a network service that was restarted); Defer mends it. Of IPv6 it is never said, because there the
// kernel lists the latest address first, and prefers others by their being deprecated.
func Leads(l Link, p netip.Prefix) bool {
	if !p.Addr().Is4() {
		return false
	}
	leads := false
	for _, a := range l.Addresses {
		switch {
		case a.Prefix == p:
			leads = true
		case a.Prefix.Addr().Is4() && !a.Ours:
			return leads
		}
	}
	return false
}

// Defer moves p, which Add put on the interface, behind the interface's other addresses. For less than a millisecond it is not there.
// Connections survive that.
func (h *Handle) Defer(index int, p netip.Prefix, valid time.Duration) error {
	if err := h.Remove(index, p); err != nil {
		return err
	}
	return h.Add(index, p, valid)
}
