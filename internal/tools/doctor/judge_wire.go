package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/config"
)

// judgeWire looks at what was heard on the link of v.
func judgeWire(out *findings, f Facts, v config.VIP, w Wire) {
	judgeClaims(out, f, v, w)
	judgeFirewall(out, f, v, w)
	judgeListed(out, f, v, w)
	for _, h := range w.Hellos {
		if !h.Own && h.Group == first(v) && f.listed(v, h.Source) {
			judgeHello(out, f, v, w, h)
		}
	}
	for _, a := range w.Adverts {
		if !a.Own && f.listed(v, a.Source) {
			judgeAdvert(out, f, v, w, a)
		}
	}
	judgeSilence(out, f, v, w)
}

// judgeClaims looks for who has the address. Who takes part in the election may.
func judgeClaims(out *findings, f Facts, v config.VIP, w Wire) {
	for _, c := range w.Claims {
		if !slices.Contains(addressesOf(v), c.Address) || w.takesPart(v, c) || f.ownMAC(c.MAC) {
			continue
		}
		n := Finding{
			Code: code.DuplicateAddress, Severity: Error, VIP: v.Name, Peer: c.MAC,
			What: fmt.Sprintf("%s is answered for by %s, which takes no part in the election", c.Address, c.MAC),
		}
		if c.Host.IsValid() {
			n.Code, n.What = code.MemberClaims, fmt.Sprintf("%s is answered for by %s, the host of %s, and nothing of it is heard in the election", c.Address, c.MAC, c.Host)
		}
		out.add(n)
	}
}

// takesPart tells whether the claimant was heard in the election of v.
func (w Wire) takesPart(v config.VIP, c Claim) bool {
	if c.VRID != 0 && c.VRID == v.VRRP.ID {
		return true
	}
	return slices.ContainsFunc(w.Adverts, func(a Advert) bool { return a.MAC == c.MAC && a.VRID == v.VRRP.ID && a.shares(v) }) ||
		slices.ContainsFunc(w.Hellos, func(h Hello) bool { return h.MAC == c.MAC && h.Group == first(v) })
}

func (f Facts) ownMAC(mac string) bool {
	for _, l := range f.Links {
		if l.MAC.String() == mac {
			return true
		}
	}
	return false
}

func (a Advert) shares(v config.VIP) bool {
	return slices.ContainsFunc(a.Addresses, func(o netip.Addr) bool { return slices.Contains(addressesOf(v), o) })
}

// judgeFirewall tells what this host itself drops: protocol 112 and the members' port, each way by itself.
func judgeFirewall(out *findings, f Facts, v config.VIP, w Wire) {
	say := func(c code.Code, format string, args ...any) {
		out.add(Finding{Code: c, Severity: Error, What: fmt.Sprintf(format, args...) + " on " + w.Interface})
	}
	if w.OutVRRP != nil {
		say(code.NotSent, "VRRP (protocol 112) does not leave this host (%v)", w.OutVRRP)
	}
	if w.OutMembers != nil {
		say(code.MembersOutDropped, "the members' messages (UDP) do not leave this host (%v)", w.OutMembers)
	}
	dropped := func(a Advert) bool { return !a.Own && !a.Arrived && f.listed(v, a.Source) }
	if w.HeardVRRP && slices.ContainsFunc(w.Adverts, dropped) && !slices.ContainsFunc(w.Adverts, func(a Advert) bool { return !a.Own && a.Arrived }) {
		i := slices.IndexFunc(w.Adverts, dropped)
		say(code.VRRPInDropped, "VRRP (protocol 112) of %s arrives, and this host drops it before any program hears it,", w.Adverts[i].Source)
	}
	if !w.HeardMembers {
		return
	}
	for _, h := range w.Hellos {
		if !h.Own && !h.Arrived && h.Group == first(v) && f.listed(v, h.Source) {
			say(code.MembersInDropped, "the members' messages (UDP) of %s arrive, and this host drops them before keepvip hears them,", h.Source)
			return
		}
	}
}

// judgeAdvert looks at an advertisement of another host.
func judgeAdvert(out *findings, f Facts, v config.VIP, w Wire, a Advert) {
	say := out.about(v.Name, a.Source.String())
	if v.Election != config.ElectionVRRP {
		return
	}
	switch {
	case a.VRID != v.VRRP.ID && a.shares(v):
		say(code.OtherVRID, Error, "%s advertises %s with VRID %d, and this host has %d", a.Source, first(v), a.VRID, v.VRRP.ID)
		return
	case a.VRID != v.VRRP.ID:
		return
	case !a.shares(v) && !v.VRRP.AnyAddresses:
		say(code.ForeignVRID, Error, "%s advertises %s with VRID %d, which is the one of %s here", a.Source, printable.List(a.Addresses), a.VRID, first(v))
		return
	}
	if a.Version != v.VRRP.Version {
		say(code.VersionDiffers, Error, "%s speaks VRRP version %d, and this host version %d", a.Source, a.Version, v.VRRP.Version)
	}
	if a.Interval != v.VRRP.AdvertisementInterval {
		say(code.OtherInterval, Warning, "%s advertises every %v, and this host every %v", a.Source, a.Interval, v.VRRP.AdvertisementInterval)
	}
	if !v.VRRP.AnyAddresses && !config.SameSet(a.Addresses, v.Advertised(w.IPv4)) {
		say(code.OtherAddresses, Warning, "%s advertises %s, and this host has %s", a.Source, printable.List(a.Addresses), printable.List(v.Advertised(w.IPv4)))
	}
	if !f.MembersOff && !slices.ContainsFunc(w.Hellos, func(h Hello) bool { return h.Source == a.Source }) {
		say(code.MembersNotHeard, Warning, "%s advertises, and none of the members' messages (UDP) comes from there", a.Source)
	}
}

// judgeHello looks at a message of another member of the group of v.
func judgeHello(out *findings, f Facts, v config.VIP, w Wire, h Hello) {
	who := h.Source.String()
	if h.Node != "" {
		who = h.Node + " (" + who + ")"
	}
	say := out.about(v.Name, h.Source.String())
	judgeKey(f, h, who, say)
	judgeClock(f, h, who, say)
	if refused(f, h) {
		return // the two do not hear each other for that reason, and whatever else differs is to be seen when it is mended
	}
	if f.Daemon != nil && h.Software != "" && h.Software != f.Daemon.Version {
		say(code.OtherSoftware, Note, "%s runs keepvip %s, and this host %s", who, h.Software, f.Daemon.Version)
	}
	judgeHears(w, h, who, say)
	if own := f.MTU[w.Interface]; own >= leastMTU && h.MTU > 0 && h.MTU != own {
		say(code.OtherMTU, Warning, "the interface of %s has an MTU of %d bytes, and %s of %d", who, h.MTU, w.Interface, own)
	}
	if v.Election != config.ElectionVRRP || h.Version == 0 {
		return
	}
	switch {
	case h.VRID != v.VRRP.ID:
		say(code.OtherVRID, Error, "%s has VRID %d for %s, and this host has %d", who, h.VRID, first(v), v.VRRP.ID)
	case h.Version != v.VRRP.Version:
		say(code.VersionDiffers, Error, "%s speaks VRRP version %d, and this host version %d", who, h.Version, v.VRRP.Version)
	case h.Interval != v.VRRP.AdvertisementInterval:
		say(code.OtherInterval, Warning, "%s advertises every %v, and this host every %v", who, h.Interval, v.VRRP.AdvertisementInterval)
	}
	if own := w.Digests[v.Name]; h.Addresses != 0 && own != 0 && h.Addresses != own && !v.VRRP.AnyAddresses {
		say(code.OtherAddresses, Warning, "%s has another list of addresses than %s here", who, printable.List(v.Advertised(w.IPv4)))
	}
	if h.Claims && h.VRID == v.VRRP.ID && !slices.ContainsFunc(w.Adverts, func(a Advert) bool { return a.Source == h.Source && a.VRID == h.VRID }) {
		say(code.VRRPNotHeard, Error, "%s says that it advertises, and no VRRP (protocol 112) of it arrives at this host", who)
	}
}

// refused tells that key or clock keep this host from taking into account what the member says, and the member what this host says.
func refused(f Facts, h Hello) bool {
	if len(f.Key.IDs) == 0 {
		return h.KeyID != ""
	}
	return f.Key.Enforced && (!slices.Contains(f.Key.IDs, h.KeyID) || h.Ahead.Abs() >= f.Key.Window)
}

func judgeKey(f Facts, h Hello, who string, say sayer) {
	switch {
	case len(f.Key.IDs) == 0 && h.KeyID != "":
		say(code.KeyUnexpected, Warning, "%s signs with a key, and this host has none", who)
	case len(f.Key.IDs) == 0:
	case h.KeyID == "":
		say(code.KeyMissing, severe(f.Key.Enforced), "%s does not sign what it says, and this host has a key", who)
	case !slices.Contains(f.Key.IDs, h.KeyID):
		say(code.WrongKey, severe(f.Key.Enforced), "%s signs with a key that this host does not accept", who)
	}
}

func severe(yes bool) Severity {
	if yes {
		return Error
	}
	return Warning
}

// clocksApart is how far clocks may be apart before that is worth a word: logs of several nodes cannot be read together any more.
const clocksApart = 2 * time.Second

func judgeClock(f Facts, h Hello, who string, say sayer) {
	by := h.Ahead.Abs()
	if by < clocksApart && (len(f.Key.IDs) == 0 || by < f.Key.Window/2) {
		return
	}
	s, direction := Note, "ahead of"
	if h.Ahead < 0 {
		direction = "behind"
	}
	switch {
	case len(f.Key.IDs) == 0:
	case by >= f.Key.Window:
		s = severe(f.Key.Enforced)
	case by >= f.Key.Window/2:
		s = Warning
	}
	text := fmt.Sprintf("the clock of %s is %v %s this host's", who, by.Round(100*time.Millisecond), direction)
	if s != Note {
		text += fmt.Sprintf("; key.window is %v", f.Key.Window)
	}
	say(code.Clocks, s, "%s", text)
}

// judgeHears looks at what the member says of this host: the ways out, which this host cannot see by itself.
func judgeHears(w Wire, h Hello, who string, say sayer) {
	for _, own := range w.Hellos {
		if !own.Own || own.Group != h.Group || own.MAC == h.MAC {
			continue
		}
		switch {
		case slices.Contains(h.Misses, own.Session):
			say(code.VRRPNotHeardThere, Error, "%s says that no VRRP (protocol 112) of this host arrives there", who)
		case !slices.Contains(h.Hears, own.Session) && !h.Full:
			say(code.MembersNotHeardThere, Error, "%s hears none of the members' messages (UDP) of this host", who)
		}
	}
}

// judgeSilence names who should have been heard and was not.
func judgeSilence(out *findings, f Facts, v config.VIP, w Wire) {
	heard := func(a netip.Addr) bool {
		return slices.ContainsFunc(w.Hellos, func(h Hello) bool { return h.Source == a }) ||
			slices.ContainsFunc(w.Adverts, func(o Advert) bool { return o.Source == a })
	}
	judgeCandidates(out, f, v, w, heard)
	if f.MembersOff {
		return // a Backup says nothing then, and the holder is the only one that is heard
	}
	for _, p := range v.VRRP.Peers {
		if v.VRRP.MinTTL > 0 && v.VRRP.MinTTL < 255 {
			break // they may be behind a router, and what comes from there is not looked at
		}
		if p = p.WithZone(""); f.own(p) || heard(p) || f.keptOut(p) != nil {
			continue
		}
		n := Finding{Code: code.PeerSilent, Severity: Warning, VIP: v.Name, Peer: p.String(), What: fmt.Sprintf("nothing is heard of the peer %s", p)}
		if !slices.ContainsFunc(v.VRRP.Peers, func(a netip.Addr) bool { return f.own(a.WithZone("")) }) {
			n.What += "; it has to have this host's own address in its vrrp.peers, and that is in none of the list here"
			n.Remedy = "Start keepvip there, put this host's own address into vrrp.peers of that host, correct the list here, or repair the network."
		}
		out.add(n)
	}
	if f.Daemon == nil || len(v.VRRP.Peers) > 0 || v.Election != config.ElectionVRRP {
		return
	}
	others := slices.ContainsFunc(w.Hellos, func(h Hello) bool { return !h.Own }) || slices.ContainsFunc(w.Adverts, func(a Advert) bool { return !a.Own })
	if !others {
		out.say(v.Name, code.Alone, Note, "no other node is heard on %s", w.Interface)
	}
}
