package config

import "strings"

// Scope is how far an IPv4 address is valid (rtnetlink(7)).
type Scope string

// The scopes.
const (
	ScopeGlobal Scope = "global"
	ScopeSite   Scope = "site"
	ScopeLink   Scope = "link"
	ScopeHost   Scope = "host"
)

// maxLabel is what the kernel takes (IFNAMSIZ without its NUL).
const maxLabel = 15

// labels refuses those that the kernel does not take, or that no address has.
func (k vipValidator) labels() {
	n := 0
	for _, p := range k.v.Addresses {
		if p.Addr().Is4() {
			n++
		}
	}
	if len(k.v.Labels) > n {
		k.fail("labels", "%d of them for %d IPv4 addresses, want one for each", len(k.v.Labels), n)
	}
	for _, l := range k.v.Labels {
		if len(l) > maxLabel || strings.ContainsFunc(l, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }) {
			k.fail("labels", "%s, want at most %d printable characters without / and spaces, such as eth0:1", show(l), maxLabel)
		}
	}
}
