package doctor

import (
	"fmt"
	"slices"

	"github.com/keepvip/keepvip/internal/code"
)

// judgePeers compares what the doctors of two hosts have heard of each other: each protocol and each way by itself.
func judgePeers(out *findings, f Facts) {
	for _, p := range f.Peers {
		say := func(c code.Code, s Severity, format string) {
			out.add(Finding{Code: c, Severity: s, Peer: p.Address.String(), What: fmt.Sprintf(format, p.Address)})
		}
		switch {
		case p.HeardVRRP || p.HeardMembers:
		case p.Refused:
			say(code.WrongKey, Error, "the doctor on %s has another key than this host, or only one of the two has a key")
			continue
		case !f.onLink(p, true) && !f.onLink(p, false):
			say(code.NoDoctor, Warning, "nothing is heard of a doctor on %s, neither by protocol 112 nor by UDP")
			continue
		}
		switch {
		case p.HeardVRRP:
		case f.onLink(p, true):
			say(code.VRRPInDropped, Error, "protocol 112 of %s arrives, and this host drops it")
		default:
			say(code.VRRPNotHeard, Error, "protocol 112 of %s does not arrive")
		}
		switch {
		case p.HeardMembers:
		case f.onLink(p, false):
			say(code.MembersInDropped, Error, "UDP of %s to the members' port arrives, and this host drops it")
		default:
			say(code.MembersNotHeard, Error, "UDP of %s to the members' port does not arrive")
		}
		if !p.Tells {
			continue
		}
		if !p.VRRPHeardThere {
			say(code.VRRPNotHeardThere, Error, "the doctor on %s hears no protocol 112 of this host")
		}
		if !p.MembersHeardThere {
			say(code.MembersNotHeardThere, Error, "the doctor on %s hears no UDP of this host to the members' port")
		}
	}
}

func (f Facts) onLink(p Peer, vrrp bool) bool {
	return slices.ContainsFunc(f.Wires, func(w Wire) bool { return slices.Contains(w.Probes, Probe{Source: p.Address, VRRP: vrrp}) })
}
