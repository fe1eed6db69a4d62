package doctor

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// External is an entry that is somebody else's, as seen from this host.
type External struct {
	VIP      config.VIP
	Resolves []netip.Addr // what the external address is, or its name stands for here
	Err      error        // why no connection was made to it; nil: one was
	Claims   []Claim      // who answers on the link for the addresses of the entry
}

// judgeExternal looks whether clients are served where they are sent, and nowhere else.
func judgeExternal(out *findings, f Facts, e External) {
	say := out.about(e.VIP.Name, "")
	switch {
	case len(e.Resolves) == 0:
		say(code.ExternalUnanswered, Error, "the external address is %s, and no name server knows an address of it", e.VIP.HostPort())
	case e.Err != nil:
		say(code.ExternalUnanswered, Error, "no connection to the external address %s (TCP): %v", e.VIP.HostPort(), e.Err)
	}
	for _, l := range f.Links {
		for _, a := range l.Addresses {
			if slices.Contains(addressesOf(e.VIP), a.Prefix.Addr()) {
				say(code.ExternalStillHeld, Warning, "%s is on %s of this host, and the mode is external", a.Prefix.Addr(), l.Name)
			}
		}
	}
	for _, c := range e.Claims {
		if !slices.Contains(e.Resolves, c.Address) {
			say(code.ExternalStillHeld, Warning, "%s answers on the link for %s, and the mode is external", c.MAC, c.Address)
		}
	}
}
