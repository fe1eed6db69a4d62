package keepalived

import (
	"fmt"
	"net/netip"
	"strings"
)

// readVirtual reads virtual_ipaddress, whose addresses are all of one family.
func readVirtual(d *draft, n statement) []Address {
	var out []Address
	for _, a := range readAddresses(n) {
		if d.suits(n.findings, a.At, a.Prefix.Addr(), a.Prefix.Addr().String()) {
			out = append(out, a)
		}
	}
	return out
}

func readAddresses(n statement) []Address {
	if len(n.Children) == 0 {
		n.slip(CodeMissing, n.At, n.Words[0]+" is empty", "write an address into it, or remove it").Harmless = true
	}
	var out []Address
	for _, c := range n.Children {
		if !c.Block {
			if a, ok := readAddress(statement{c, n.findings}); ok {
				out = append(out, a)
			}
		}
	}
	return out
}

// readAddress reads one line: IP[/LENGTH] and options.
func readAddress(n statement) (Address, bool) {
	a := Address{At: n.At, Scope: "global"}
	ip, length, slash := strings.Cut(n.Words[0], "/")
	addr, ok := address(ip)
	if !ok {
		n.slip(CodeValue, n.At, fmt.Sprintf("%q is no address: keepalived drops the line", n.Words[0]), "write an address, with /LENGTH if it has one")
		return a, false
	}
	bits := addr.BitLen()
	if slash {
		v, ok := unsigned(length)
		if !ok || v > int64(bits) {
			if begins := leading(length); !ok && begins > 0 && begins <= int64(bits) {
				bits = int(begins)
			}
			n.slip(CodeValue, n.At, fmt.Sprintf("the length /%s of %s: keepalived takes /%d", length, ip, bits), fmt.Sprintf("write 0 to %d", addr.BitLen()))
		} else {
			bits = int(v)
		}
	}
	a.Prefix = netip.PrefixFrom(addr, bits)
	options := n.Words[1:]
	for len(options) > 0 {
		taken, ok := readAddressOption(&a, n, options)
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

// readAddressOption reads one option and says how many words it took; not ok drops the address.
func readAddressOption(a *Address, n statement, options []string) (taken int, ok bool) {
	word := options[0]
	if a.flag(word) {
		return 1, true
	}
	known := map[string]func(*Address, statement, string) bool{
		"dev":   func(a *Address, _ statement, v string) bool { a.Interface = v; return true },
		"scope": readScope, "label": readLabel, "brd": readBroadcast, "broadcast": readBroadcast, "peer": readPeerAddress,
		"preferred_lft": readPreferred,
		"track_group":   func(a *Address, _ statement, v string) bool { a.TrackGroup = v; return true },
	}
	read, is := known[word]
	switch {
	case !is:
		text := fmt.Sprintf("keepalived does not know the option %q of %s, and goes on behind it", word, a.Prefix.Addr())
		if _, isAddress := address(strings.SplitN(word, "/", 2)[0]); isAddress {
			text = fmt.Sprintf("the address %s is lost: keepalived reads one address a line", word)
		}
		n.fault("address-option", n.At, text, "write each address on a line of its own")
		return 1, true
	case len(options) < 2:
		n.fault(CodeMissing, n.At, fmt.Sprintf("%s of %s has no value: keepalived drops the address", word, a.Prefix.Addr()), "write one, or remove the option")
		return 1, false
	}
	return 2, read(a, n, options[1])
}

func readScope(a *Address, n statement, v string) bool {
	number, isNumber := unsigned(v)
	switch {
	case a.Prefix.Addr().Is6():
		n.fault(codeFamily, n.At, "scope for an IPv6 address: keepalived ignores it", "remove it")
	case strings.Contains(" global site link host nowhere ", " "+v+" "), isNumber && number <= 255:
		a.Scope = v
	default:
		n.slip(CodeValue, n.At, fmt.Sprintf("scope %q: keepalived takes global", v), "want global, site, link or host")
	}
	return true
}

func readLabel(a *Address, n statement, v string) bool {
	switch {
	case a.Prefix.Addr().Is6():
		n.fault(codeFamily, n.At, "label for an IPv6 address: keepalived ignores it", "remove it")
	case len(v) > 15:
		n.fault(CodeValue, n.At, fmt.Sprintf("the label %q has more than 15 characters: keepalived drops the address", v), "shorten it")
		return false
	default:
		a.Label = v
	}
	return true
}

func readBroadcast(a *Address, n statement, v string) bool {
	given, ok := address(v)
	switch {
	case a.Prefix.Addr().Is6():
		n.fault(codeFamily, n.At, "a broadcast address for IPv6: keepalived ignores it", "remove it")
	case (v == "+" || v == "-") && a.Prefix.Bits() > 30:
		n.fault(CodeValue, n.At, fmt.Sprintf("brd %s for a /%d, which has no broadcast address: keepalived sets none", v, a.Prefix.Bits()), "remove it")
	case v == "+" || v == "-":
		b := a.Prefix.Masked().Addr().As4()
		for i := a.Prefix.Bits(); i < 32 && v == "+"; i++ {
			b[i/8] |= 0x80 >> (i % 8)
		}
		a.Broadcast = netip.AddrFrom4(b)
	case !ok || given.Is6():
		n.fault(CodeValue, n.At, fmt.Sprintf("brd %q is no address: keepalived sets none", v), "")
	default:
		a.Broadcast = given
	}
	return true
}

// readPeerAddress reads the other end of a point-to-point address, which is one address: keepalived takes no length, of either.
func readPeerAddress(a *Address, n statement, v string) bool {
	p, ok := address(v)
	switch {
	case !ok || p.Is6() != a.Prefix.Addr().Is6():
		n.fault(CodeValue, n.At, fmt.Sprintf("peer %q is no address of the family of %s: keepalived sets none", v, a.Prefix.Addr()), "write the address alone, without a length")
		return true
	case !a.Prefix.IsSingleIP():
		n.fault(codeConflict, n.At, fmt.Sprintf("the length /%d of %s beside a peer: keepalived ignores it", a.Prefix.Bits(), a.Prefix.Addr()), "remove it")
		a.Prefix = netip.PrefixFrom(a.Prefix.Addr(), a.Prefix.Addr().BitLen())
	}
	a.Peer = netip.PrefixFrom(p, p.BitLen())
	return true
}

func readPreferred(a *Address, n statement, v string) bool {
	if _, ok := unsigned(v); !ok && v != "forever" {
		n.fault(CodeValue, n.At, fmt.Sprintf("preferred_lft %q, want seconds or forever", v), "")
		return true
	}
	a.PreferredLft = v
	return true
}
