package trial

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// WithSpread is keepvip with its load spread over the members.
type WithSpread struct {
	Keepvip
	Off     bool     // the same configuration without it: the holder serves all
	Other   bool     // with Off: another port is spread all the same
	Weights []int    // by node, none = 1 everywhere
	Members []string // own addresses in the order of the option; none: those that are heard
	Checked bool     // a node is healthy unless there is the file of [Unhealthy]
	Watched bool     // a node is healthy as long as its server takes connections
	Second  bool     // a second entry, with an address and a port of its own
	// Backends is how many of the last nodes run no keepvip, and get the connections from the others: with Masquerade.
	Backends int
	// Masquerade has the holder translate; the nodes forward.
	Masquerade bool
	// Key is the file of a node's key; nil: nothing is signed.
	Key  func(*lab.Node) string
	Tier *Tier // nil: every node serves
	// Candidates is how many of the first nodes may hold the address; 0 = all.
	Candidates int
}

// Unhealthy is the file by which a node with Checked is unhealthy.
func Unhealthy(n *lab.Node) string { return n.Path("unhealthy") }

func (s WithSpread) Name() string {
	switch {
	case s.Off:
		return "keepvip"
	case s.Masquerade:
		return "keepvip spread by masquerade"
	}
	return "keepvip spread"
}

func (s WithSpread) Start(n *lab.Node, set Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	return s.Run(n, "--config", try.Get(s.configure(n, set)))
}

// configure writes the configuration of a node, and returns where.
func (s WithSpread) configure(n *lab.Node, set Settings) (string, error) {
	var b strings.Builder
	b.WriteString("apiVersion: keepvip/v1\nkind: Config\nvips:\n")
	entry := func(name string, addresses []netip.Addr, id, rest string) {
		fmt.Fprintf(&b, "- name: %s\n  addresses: [%s]\n  interface: %s\n  priority: %d\n  vrrp: {%sadvertisementInterval: %v}\n%s",
			name, quoted(addresses), n.NICs[0].Name, set.Priority, id, set.Interval, rest)
	}
	checks := "  check: none\n"
	if s.Checked {
		checks = fmt.Sprintf("  checks: [{name: serving, kind: file, path: %q, absent: true, interval: 100ms, timeout: 50ms}]\n", Unhealthy(n))
	}
	if s.Watched {
		checks = fmt.Sprintf("  check: {url: %q, interval: 300ms}\n", "tcp://"+netip.AddrPortFrom(n.Address, watchedPort).String())
	}
	if s.Backends > 0 {
		checks = "" // one of them at least has to be healthy
	}
	switch {
	case s.Tier != nil:
		for _, c := range s.Tier.of(n) {
			entry(c.name, c.addresses(set.Addresses), c.id, checks+c.option())
		}
	case s.Off && s.Other:
		entry("apiserver", set.Addresses, "", checks+fmt.Sprintf("  spread: {via: direct, ports: [{port: %d, target: %d}]}\n", DownloadPort, downloadTarget))
	case s.Off:
		entry("apiserver", set.Addresses, "", checks)
	default:
		entry("apiserver", set.Addresses, "", checks+s.option(n))
	}
	if s.Second {
		entry("second", []netip.Addr{SecondVIP}, "id: 77, ", fmt.Sprintf("  check: none\n  spread: {via: direct, ports: [{port: %d, target: %d}]}\n", SecondPort, spreadTarget))
	}
	if s.Key != nil {
		fmt.Fprintf(&b, "key: {file: %s}\n", s.Key(n))
	}
	return n.WriteFile("keepvip.yaml", b.String(), 0o644)
}

// option is the configuration's own part.
func (s WithSpread) option(n *lab.Node) string {
	via := "direct"
	if s.Masquerade {
		via = "masquerade"
	}
	text := fmt.Sprintf("  spread:\n    via: "+via+"\n    ports: [{port: %d, target: %d}, {port: %d, target: %d}]\n", SpreadPort, spreadTarget, DownloadPort, downloadTarget)
	if s.Candidates > 0 {
		text = fmt.Sprintf("  candidates: [%s]\n", nodesFrom(1, s.Candidates)) + text
	}
	if n.ID <= len(s.Weights) {
		text += "    weight: " + strconv.Itoa(s.Weights[n.ID-1]) + "\n"
	}
	if s.Backends > 0 {
		text = fmt.Sprintf("  spread:\n    via: masquerade\n    ports: [{port: %d, target: %d}]\n    backendCheck: {url: tcp, interval: 100ms, timeout: 300ms}\n    backends:\n", SpreadPort, spreadTarget)
		for _, b := range n.Others(s.Backends) {
			text += fmt.Sprintf("    - {addresses: [%s]}\n", quoted([]netip.Addr{b.Address, b.Addr6}))
		}
	}
	if len(s.Members) > 0 {
		text += fmt.Sprintf("    members: [%s]\n", strings.Join(s.Members, ", "))
	}
	return text
}
