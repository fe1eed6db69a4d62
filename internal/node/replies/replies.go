package replies

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/link"
)

// Kernel answers questions about rules and routes. [link.Handle] does.
type Kernel interface {
	Rules(v6 bool) ([]link.Rule, error)
	RouteFrom(from, to netip.Addr) (link.Route, error)
}

// Lost says that replies from a virtual address do not leave as they should.
type Lost struct {
	Reason string
	Remedy string // the commands that mend it; empty: not known
}

// rulesFresh is for how long one list of rules is good for all entries.
const rulesFresh = time.Second

// Looker asks a kernel.
type Looker struct {
	kernel Kernel

	mu     sync.Mutex     // guards what follows
	rules  [2][]link.Rule // of IPv4 and IPv6
	listed [2]time.Time   // zero: not yet
	errs   [2]error
}

// New makes a Looker.
func New(k Kernel) *Looker { return &Looker{kernel: k} }

func (l *Looker) rulesOf(v6 bool) ([]link.Rule, error) {
	i := 0
	if v6 {
		i = 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.listed[i].IsZero() || now.Sub(l.listed[i]) >= rulesFresh {
		l.rules[i], l.errs[i] = l.kernel.Rules(v6)
		l.listed[i] = now
	}
	return l.rules[i], l.errs[i]
}

// farHosts stand for hosts of other subnets. They are of the blocks for documentation (RFC 5737, RFC 3849), which nobody routes apart.
var farHosts = map[bool]netip.Addr{false: netip.MustParseAddr("203.0.113.1"), true: netip.MustParseAddr("2001:db8:ffff::1")}

// look compares replies from a virtual address on the link of that index with those from the node's own address there. own are the links with the node's
// own addresses alone; bound tells whether the virtual one is here. It reports false where nothing is wrong, or not known to be.
//
// Without a rule that goes by the source, both leave alike, and no route is asked for.
func (l *Looker) look(vip netip.Addr, index int, own []link.Link, bound bool) (Lost, bool) {
	i := slices.IndexFunc(own, func(o link.Link) bool { return o.Index == index })
	if i < 0 {
		return Lost{}, false
	}
	self, ok := link.SourceToward(own[i], vip)
	rules, err := l.rulesOf(vip.Is6())
	if !ok || err != nil || self.IsLinkLocalUnicast() || !slices.ContainsFunc(rules, bySource) {
		return Lost{}, false
	}
	if !bound && !vip.Is6() {
		if l.ByRule(vip) {
			return Lost{}, false // the kernel does not tell where an IPv4 packet goes that comes from nobody here
		}
	}
	for _, to := range append(hostsOf(own[i], vip, self), farHosts[vip.Is6()]) {
		if reason := l.compare(vip, self, to, own, index, bound); reason != "" {
			return Lost{Reason: reason, Remedy: remedy(rules, self, vip)}, true
		}
	}
	return Lost{}, false
}

// ByRule reports whether a rule decides how what is said from that address leaves.
func (l *Looker) ByRule(vip netip.Addr) bool {
	rules, err := l.rulesOf(vip.Is6())
	return err == nil && slices.ContainsFunc(rules, func(r link.Rule) bool { return from(r, vip) })
}

// from tells whether a rule is for packets from that address.
func from(r link.Rule, a netip.Addr) bool { return bySource(r) && r.From.Contains(a) }

func bySource(r link.Rule) bool { return r.From.IsValid() }

// compare is why replies from vip to that host do not leave as those from the own address do; empty: they do, or these do not leave here either.
func (l *Looker) compare(vip, self, to netip.Addr, links []link.Link, index int, bound bool) string {
	ours, err := l.kernel.RouteFrom(self, to)
	if err != nil || ours.Index != index {
		return ""
	}
	asked := vip
	if !bound && !vip.Is6() {
		asked = netip.Addr{}
	}
	theirs, err := l.kernel.RouteFrom(asked, to)
	whom := "hosts of its subnet"
	if to == farHosts[vip.Is6()] {
		whom = "hosts of other subnets"
	}
	switch {
	case err != nil:
		return fmt.Sprintf("replies from %s to %s have no route, and those from this node's own address %s leave by %s", vip, whom, self, named(links, index))
	case theirs.Index != index:
		return fmt.Sprintf("replies from %s to %s leave by %s, and those from this node's own address %s by %s", vip, whom, named(links, theirs.Index), self, named(links, index))
	}
	return ""
}

func named(links []link.Link, index int) string {
	if i := slices.IndexFunc(links, func(l link.Link) bool { return l.Index == index }); i >= 0 {
		return links[i].Name
	}
	return fmt.Sprintf("interface %d", index)
}

// hostsOf is a host of each subnet of the link, of the family of vip, that is neither of these two.
func hostsOf(l link.Link, vip, self netip.Addr) (out []netip.Addr) {
	for _, a := range l.Addresses {
		s := a.Subnet()
		if a.Ours || !s.IsValid() || s.Addr().Is4() != vip.Is4() || s.Addr().IsLinkLocalUnicast() {
			continue
		}
		host := s.Addr().Next()
		for host == vip || host == self || host == a.Prefix.Addr() {
			host = host.Next()
		}
		if s.Contains(host) {
			out = append(out, host)
		}
	}
	return out
}

// remedy gives the virtual address the rules that the own one has; empty where these go by more than addresses.
func remedy(rules []link.Rule, own, vip netip.Addr) string {
	ip := "ip"
	if vip.Is6() {
		ip = "ip -6"
	}
	var out []string
	for _, r := range rules {
		if !r.Plain || !from(r, own) || from(r, vip) {
			continue
		}
		to := ""
		if r.To.IsValid() {
			to = " to " + r.To.String()
		}
		out = append(out, fmt.Sprintf("%s rule add from %s%s lookup %d priority %d", ip, vip, to, r.Table, r.Priority))
	}
	return strings.Join(out, " && ")
}
