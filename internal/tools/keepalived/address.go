package keepalived

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// virtual reads virtual_ipaddress, whose addresses are all of one family.
func (r *reader) virtual(d *draft, n *syntax.Node) []Address {
	var out []Address
	for _, a := range r.addresses(n) {
		if r.suits(d, a.At, a.Prefix.Addr(), a.Prefix.Addr().String()) {
			out = append(out, a)
		}
	}
	return out
}

func (r *reader) addresses(n *syntax.Node) []Address {
	if len(n.Children) == 0 {
		r.slip(CodeMissing, n.At, n.Words[0]+" is empty", "write an address into it, or remove it")
		r.harmless(true)
	}
	var out []Address
	for _, c := range n.Children {
		if !c.Block {
			if a, ok := r.address(c); ok {
				out = append(out, a)
			}
		}
	}
	return out
}

// address reads one line: IP[/LENGTH] and options.
func (r *reader) address(n *syntax.Node) (Address, bool) {
	a := Address{At: n.At, Scope: "global"}
	ip, length, slash := strings.Cut(n.Words[0], "/")
	addr, ok := address(ip)
	if !ok {
		r.slip(CodeValue, n.At, fmt.Sprintf("%q is no address: keepalived drops the line", n.Words[0]), "write an address, with /LENGTH if it has one")
		return a, false
	}
	bits := addr.BitLen()
	if slash {
		v, ok := unsigned(length)
		if !ok || v > int64(bits) {
			if begins := leading(length); !ok && begins > 0 && begins <= int64(bits) {
				bits = int(begins)
			}
			r.slip(CodeValue, n.At, fmt.Sprintf("the length /%s of %s: keepalived takes /%d", length, ip, bits), fmt.Sprintf("write 0 to %d", addr.BitLen()))
		} else {
			bits = int(v)
		}
	}
	a.Prefix = netip.PrefixFrom(addr, bits)
	options := n.Words[1:]
	for len(options) > 0 {
		taken, ok := r.addressOption(&a, n, options)
		if !ok {
			return a, false
		}
		options = options[taken:]
	}
	if addr.Is6() && bits == 128 && a.PreferredLft == "" {
		a.PreferredLft = "0"
	}
	return a, true
}

// flags are the options without a value.
func (a *Address) flag(word string) bool {
	flags := map[string]*bool{
		"home": &a.Home, "-nodad": &a.NoDAD, "mngtmpaddr": &a.ManageTemp, "noprefixroute": &a.NoPrefixRoute, "autojoin": &a.AutoJoin, "no_track": &a.NoTrack, "use_vmac": &a.VMAC,
	}
	f, ok := flags[word]
	if ok {
		*f = true
	}
	return ok
}

// addressOption reads one option and says how many words it took; not ok drops the address.
func (r *reader) addressOption(a *Address, n *syntax.Node, options []string) (taken int, ok bool) {
	word := options[0]
	if a.flag(word) {
		return 1, true
	}
	known := map[string]func(*Address, *syntax.Node, string) bool{
		"dev":   func(a *Address, _ *syntax.Node, v string) bool { a.Interface = v; return true },
		"scope": r.scope, "label": r.label, "brd": r.broadcast, "broadcast": r.broadcast, "peer": r.peerAddress,
		"preferred_lft": r.preferred,
		"track_group":   func(a *Address, _ *syntax.Node, v string) bool { a.TrackGroup = v; return true },
	}
	read, is := known[word]
	switch {
	case !is:
		text := fmt.Sprintf("keepalived does not know the option %q of %s, and goes on behind it", word, a.Prefix.Addr())
		if _, isAddress := address(strings.SplitN(word, "/", 2)[0]); isAddress {
			text = fmt.Sprintf("the address %s is lost: keepalived reads one address a line", word)
		}
		r.fault("address-option", n.At, text, "write each address on a line of its own")
		return 1, true
	case len(options) < 2:
		r.fault(CodeMissing, n.At, fmt.Sprintf("%s of %s has no value: keepalived drops the address", word, a.Prefix.Addr()), "write one, or remove the option")
		return 1, false
	}
	return 2, read(a, n, options[1])
}

func (r *reader) scope(a *Address, n *syntax.Node, v string) bool {
	number, isNumber := unsigned(v)
	switch {
	case a.Prefix.Addr().Is6():
		r.fault(codeFamily, n.At, "scope for an IPv6 address: keepalived ignores it", "remove it")
	case strings.Contains(" global site link host nowhere ", " "+v+" "), isNumber && number <= 255:
		a.Scope = v
	default:
		r.slip(CodeValue, n.At, fmt.Sprintf("scope %q: keepalived takes global", v), "want global, site, link or host")
	}
	return true
}

func (r *reader) label(a *Address, n *syntax.Node, v string) bool {
	switch {
	case a.Prefix.Addr().Is6():
		r.fault(codeFamily, n.At, "label for an IPv6 address: keepalived ignores it", "remove it")
	case len(v) > 15:
		r.fault(CodeValue, n.At, fmt.Sprintf("the label %q has more than 15 characters: keepalived drops the address", v), "shorten it")
		return false
	default:
		a.Label = v
	}
	return true
}

func (r *reader) broadcast(a *Address, n *syntax.Node, v string) bool {
	given, ok := address(v)
	switch {
	case a.Prefix.Addr().Is6():
		r.fault(codeFamily, n.At, "a broadcast address for IPv6: keepalived ignores it", "remove it")
	case (v == "+" || v == "-") && a.Prefix.Bits() > 30:
		r.fault(CodeValue, n.At, fmt.Sprintf("brd %s for a /%d, which has no broadcast address: keepalived sets none", v, a.Prefix.Bits()), "remove it")
	case v == "+" || v == "-":
		b := a.Prefix.Masked().Addr().As4()
		for i := a.Prefix.Bits(); i < 32 && v == "+"; i++ {
			b[i/8] |= 0x80 >> (i % 8)
		}
		a.Broadcast = netip.AddrFrom4(b)
	case !ok || given.Is6():
		r.fault(CodeValue, n.At, fmt.Sprintf("brd %q is no address: keepalived sets none", v), "")
	default:
		a.Broadcast = given
	}
	return true
}

// peerAddress reads the other end of a point-to-point address, which is one address: keepalived takes no length, of either.
func (r *reader) peerAddress(a *Address, n *syntax.Node, v string) bool {
	p, ok := address(v)
	switch {
	case !ok || p.Is6() != a.Prefix.Addr().Is6():
		r.fault(CodeValue, n.At, fmt.Sprintf("peer %q is no address of the family of %s: keepalived sets none", v, a.Prefix.Addr()), "write the address alone, without a length")
		return true
	case !a.Prefix.IsSingleIP():
		r.fault(codeConflict, n.At, fmt.Sprintf("the length /%d of %s beside a peer: keepalived ignores it", a.Prefix.Bits(), a.Prefix.Addr()), "remove it")
		a.Prefix = netip.PrefixFrom(a.Prefix.Addr(), a.Prefix.Addr().BitLen())
	}
	a.Peer = netip.PrefixFrom(p, p.BitLen())
	return true
}

func (r *reader) preferred(a *Address, n *syntax.Node, v string) bool {
	if _, ok := unsigned(v); !ok && v != "forever" {
		r.fault(CodeValue, n.At, fmt.Sprintf("preferred_lft %q, want seconds or forever", v), "")
		return true
	}
	a.PreferredLft = v
	return true
}
