package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/base/code"
)

// judgePeers compares what the doctors of two hosts have heard of each other: each protocol and each way by itself.
func judgePeers(out *findings, f Facts) {
	for _, p := range f.Peers {
		say := func(c code.Code, format string) { out.about("", p.Address.String())(c, Error, format, p.Address) }
		switch {
		case p.HeardVRRP || p.HeardMembers:
		case p.Refused:
			say(code.WrongKey, "the doctor on %s has another key than this host, or only one of the two has a key")
			continue
		case !f.onLink(p, true) && !f.onLink(p, false):
			f.withoutDoctor(out, p)
			continue
		}
		switch {
		case p.HeardVRRP:
		case f.onLink(p, true):
			say(code.VRRPInDropped, "protocol 112 of %s arrives, and this host drops it")
		default:
			say(code.VRRPNotHeard, "protocol 112 of %s does not arrive")
		}
		switch {
		case p.HeardMembers, f.MembersOff:
		case f.onLink(p, false):
			say(code.MembersInDropped, "UDP of %s to the members' port arrives, and this host drops it")
		default:
			say(code.MembersNotHeard, "UDP of %s to the members' port does not arrive")
		}
		if !p.Tells {
			continue
		}
		if !p.VRRPHeardThere {
			say(code.VRRPNotHeardThere, "the doctor on %s hears no protocol 112 of this host")
		}
		if !p.MembersHeardThere && !f.MembersOff {
			say(code.MembersNotHeardThere, "the doctor on %s hears no UDP of this host to the members' port")
		}
	}
}

func (f Facts) onLink(p Peer, vrrp bool) bool {
	return slices.ContainsFunc(f.Wires, func(w Wire) bool { return slices.Contains(w.Probes, Probe{Source: p.Address, VRRP: vrrp}) })
}

// withoutDoctor says what of a host without a doctor cannot be known. A keepvip that runs there tells some of it: which of its packets arrive
// here, and, where one runs here, too, which of this host's it hears.
func (f Facts) withoutDoctor(out *findings, p Peer) {
	n := Finding{Code: code.NoDoctor, Severity: Warning, Peer: p.Address.String(), What: fmt.Sprintf("nothing is heard of a doctor on %s, neither by protocol 112 nor by UDP", p.Address)}
	if f.MembersOff {
		n.What = fmt.Sprintf("nothing is heard of a doctor on %s by protocol 112, and port is 0, so that it is not asked by UDP", p.Address)
	}
	var speaks, advertises, mayHear, mayMiss bool
	for _, w := range f.Wires {
		advertises = advertises || slices.ContainsFunc(w.Adverts, func(a Advert) bool { return a.Source == p.Address })
		for _, h := range w.Hellos {
			if h.Own || h.Source != p.Address {
				continue
			}
			speaks = true
			for _, own := range w.Hellos {
				mayHear = mayHear || own.Own && own.Group == h.Group
				mayMiss = mayMiss || own.Own && own.Group == h.Group && own.Claims
			}
		}
	}
	var unknown []string
	for _, u := range []struct {
		known bool
		text  string
	}{
		{advertises, "whether its protocol 112 arrives here: it advertises nothing"},
		{mayMiss, "whether protocol 112 of this host arrives there: this host advertises nothing"},
		{mayHear, "whether UDP of this host arrives there: no keepvip runs here"},
	} {
		if !u.known {
			unknown = append(unknown, u.text)
		}
	}
	switch {
	case !speaks:
	case len(unknown) == 0:
		return
	default:
		n.Severity = Note
		n.What = fmt.Sprintf("no doctor is heard on %s, but its keepvip is; what that says is in the other findings, and it cannot be known %s", p.Address, strings.Join(unknown, "; "))
	}
	out.add(n)
}
