package convert

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// entry is one address of an entry as keepvip writes it.
type entry struct {
	text     string
	at       syntax.Origin
	addr     netip.Addr
	link     string     // where it is not the interface of the entry
	excluded netip.Addr // the address, where advertisements leave it out
	ipv4     bool
	label    string
	scope    string
}

// binding writes what an instance has bound.
type binding struct{ *converter }

// addresses are those of an instance: first the advertised ones, whose family carries the election, then the excluded ones.
func (b binding) addresses(i *keepalived.Instance) []entry {
	var out []entry
	routed := false // said of one address, it is said of all
	seen := map[netip.Addr]bool{}
	add := func(a keepalived.Address, excluded bool) {
		switch {
		case seen[a.Prefix.Addr()]:
			b.changed(a.At, fmt.Sprintf("%s is in this instance already: keepvip has it once", a.Prefix.Addr()), "")
			return
		case !b.bindable(a):
			return
		}
		seen[a.Prefix.Addr()] = true
		if a.Interface != "" && a.Interface == b.vmacs[i] {
			a.Interface = i.Interface
		}
		b.options(a, a.Interface != i.Interface)
		if !a.Prefix.IsSingleIP() && !routed {
			b.note(a.At, fmt.Sprintf("/%d: keepvip binds the address as /32, and makes a route for its subnet only where no own address of the host is in it", a.Prefix.Bits()))
			routed = true
		}
		text := a.Prefix.String()
		if a.Prefix.IsSingleIP() {
			text = a.Prefix.Addr().String()
		}
		e := entry{text: text, at: a.At, addr: a.Prefix.Addr(), ipv4: a.Prefix.Addr().Is4(), label: a.Label, scope: a.Scope}
		if a.Interface != i.Interface {
			e.link = a.Interface
		}
		if excluded && a.Prefix.Addr().Is6() == i.IPv6 {
			e.excluded = a.Prefix.Addr()
		}
		out = append(out, e)
	}
	for _, a := range i.Addresses {
		add(a, false)
	}
	if len(out) == 0 && len(i.Addresses) > 0 {
		return nil // none of those that the election is about
	}
	for _, a := range i.Excluded {
		add(a, true)
	}
	return out
}

// bindable says whether keepvip can bind an address.
func (b binding) bindable(a keepalived.Address) bool {
	addr := a.Prefix.Addr()
	if a.Peer.IsValid() {
		b.refuse(a.At, fmt.Sprintf("%s has a peer address (point to point), which keepvip cannot set", addr), "route to it in the host's network configuration")
		return false
	}
	if a.VMAC {
		b.refuse(a.At, fmt.Sprintf("%s on a virtual MAC address: %s", addr, noVMAC), noVMACRemedy)
	}
	return true
}

// elsewhere writes which addresses are on another interface.
func (b binding) elsewhere(list []entry) {
	list = slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return e.link == "" })
	for i, e := range list {
		if i == 0 {
			b.out.open("vips[].elsewhere", placed(e.at))
		}
		b.out.add("vips[].elsewhere", e.addr.String()+"="+e.link, placed(e.at))
	}
}

// listing writes how the IPv4 addresses are listed: their labels, and their scope where all have the same.
func (b binding) listing(list []entry) {
	var labels []string
	var at, scoped syntax.Origin
	scope, same := "", true
	for _, e := range list {
		if !e.ipv4 {
			continue
		}
		if labels = append(labels, e.label); e.label != "" && at.File == "" {
			at = e.at
		}
		if scoped.File == "" {
			scoped, scope = e.at, e.scope
		}
		same = same && e.scope == scope
	}
	for len(labels) > 0 && labels[len(labels)-1] == "" {
		labels = labels[:len(labels)-1]
	}
	if len(labels) > 0 {
		b.out.set("vips[].labels", labels, placed(at))
	}
	if same && slices.Contains([]string{"site", "link", "host"}, scope) {
		b.out.set("vips[].scope", scope, placed(scoped))
		return
	}
	for _, e := range list {
		if e.ipv4 && e.scope != "" && e.scope != "global" {
			b.changed(e.at, fmt.Sprintf("scope %s: keepvip has global, site, link and host, the same for all IPv4 addresses of an entry: here they are global", e.scope), "")
		}
	}
}

// options says which options of an address keepvip has not.
func (b binding) options(a keepalived.Address, elsewhere bool) {
	if a.AutoJoin {
		b.changed(a.At, "autojoin: keepvip joins no multicast groups for an address", "")
	}
	if a.Broadcast.IsValid() {
		b.note(a.At, "brd: keepvip sets no broadcast address; the host's own in that subnet has it")
	}
	if a.Home || a.ManageTemp {
		b.note(a.At, "home, mngtmpaddr: keepvip does not set them")
	}
	if a.PreferredLft != "" && a.PreferredLft != "0" {
		b.note(a.At, "preferred_lft: keepvip's addresses are deprecated, so that the host does not speak from them by itself")
	}
	if a.NoTrack && elsewhere {
		b.changed(a.At, fmt.Sprintf("no_track: keepvip leaves the election while %s is down, on which %s is", a.Interface, a.Prefix.Addr()), "")
	}
}
