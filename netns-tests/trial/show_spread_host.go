package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// spreadHosts are what a host may be like on which a load is spread: new connections of all clients succeed, and each member has its share.
func spreadHosts() []Case {
	list := []Case{{Name: "members as clients", Run: func(host *lab.Host, _ int) (Findings, error) {
		return spreadOn(host, func(*lab.Node) error { return nil })
	}}}
	for _, c := range []struct {
		name   string
		before func(*lab.Node) error
	}{
		{"rp_filter 1", func(n *lab.Node) error {
			return errors.Join(n.Sysctl("net/ipv4/conf/all/rp_filter", "1"), n.Sysctl("net/ipv4/conf/eth0/rp_filter", "1"))
		}},
		{"kube-proxy's nftables rules", func(n *lab.Node) error { return try.Err(n.RunInput(kubeProxyRules, "nft", "-f", "-")) }},
		{"kube-proxy's iptables rules", func(n *lab.Node) error { return try.Err(n.RunInput(iptablesRules, "nft", "-f", "-")) }},
		{"ip_forward 1, as on Kubernetes nodes", func(n *lab.Node) error {
			return errors.Join(n.Sysctl("net/ipv4/ip_forward", "1"), n.Sysctl("net/ipv6/conf/all/forwarding", "1"))
		}},
	} {
		list = append(list, Case{Name: c.name, Run: func(host *lab.Host, _ int) (Findings, error) { return spreadOn(host, c.before) }})
	}
	return append(list, Case{Name: "a second address with another port", Run: func(host *lab.Host, _ int) (_ Findings, err error) {
		defer try.Catch(&err)
		s := try.Get(OpenSpread(host, SpreadConfig{Product: WithSpread{Second: true}}))
		defer s.end(&err)
		try.Do(s.served([]netip.AddrPort{netip.AddrPortFrom(SecondVIP, SecondPort)}, func() []*lab.Node { return s.Lab.Nodes }))
		// A port is spread with its own address alone.
		crossed, err := s.Lab.Sample(s.Lab.Client.Namespace, netip.AddrPortFrom(SecondVIP, SpreadPort), 30)
		return Findings{none("served at the port of the other address", crossed.Served())}, err
	}})
}

// kubeProxyRules are the base chains of kube-proxy's nftables mode, with one service.
const kubeProxyRules = `
table ip kube-proxy {
	map service-ips {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.1 . tcp . 443 : goto service-api }
	}
	chain service-api { meta l4proto tcp dnat to 10.77.0.11:7443; }
	chain services { ip daddr . meta l4proto . th dport vmap @service-ips; }
	chain masquerading {
		meta mark & 0x4000 == 0 return
		meta mark set meta mark ^ 0x4000
		masquerade fully-random
	}
	chain nat-prerouting { type nat hook prerouting priority dstnat; jump services; }
	chain nat-output { type nat hook output priority -100; jump services; }
	chain nat-postrouting { type nat hook postrouting priority srcnat; jump masquerading; }
}
`

// iptablesRules are what kube-proxy's iptables mode makes of the same by iptables-nft, with its rule against packets out of their window.
const iptablesRules = `
table ip nat {
	chain KUBE-SERVICES { ip daddr 10.96.0.1 tcp dport 443 dnat to 10.77.0.11:7443; }
	chain KUBE-POSTROUTING {
		meta mark & 0x4000 != 0x4000 return
		meta mark set meta mark ^ 0x4000
		masquerade fully-random
	}
	chain PREROUTING { type nat hook prerouting priority dstnat; jump KUBE-SERVICES; }
	chain OUTPUT { type nat hook output priority -100; jump KUBE-SERVICES; }
	chain POSTROUTING { type nat hook postrouting priority srcnat; jump KUBE-POSTROUTING; }
}
table ip filter {
	chain KUBE-FORWARD { ct state invalid drop; }
	chain KUBE-FIREWALL { ip saddr != 127.0.0.0/8 ip daddr 127.0.0.0/8 ct status dnat drop; }
	chain INPUT { type filter hook input priority filter; jump KUBE-FIREWALL; }
	chain FORWARD { type filter hook forward priority filter; jump KUBE-FORWARD; }
}
`

// spreadOn spreads on nodes that were changed before, and asks from everywhere, the nodes themselves included.
func spreadOn(host *lab.Host, before func(*lab.Node) error) (out Findings, err error) {
	defer try.Catch(&err)
	s := try.Get(openSpread(host, SpreadConfig{}, before))
	defer s.Close()
	foreign := try.Get(s.foreignRules())

	clients := s.clients()
	for _, n := range s.Lab.Nodes {
		clients = append(clients, n.Namespace)
	}
	for _, from := range clients {
		for _, target := range s.Targets() {
			const count = 300
			got := try.Get(s.Lab.Sample(from, target, count))
			name := from.Name[strings.LastIndex(from.Name, "-")+1:]
			what := fmt.Sprintf("%s to %s: failed", name, target)
			if len(got.Failures) > 0 {
				what += " (" + got.String() + ")"
			}
			out = append(out, none(what, count-got.Served()), Measured{What: "worst off by", Got: got.Worst(len(s.Lab.Nodes)), Limit: 30, Unit: "%"})
			if !strings.HasPrefix(name, "n") {
				out = append(out, none("under another address", got.Disguised))
			}
		}
	}
	return append(out, none("foreign tables changed", count(foreign != try.Get(s.foreignRules())))), nil
}

// foreignRules are all tables of the nodes that keepvip has not made.
func (s *Spreading) foreignRules() (_ string, err error) {
	defer try.Catch(&err)
	var all strings.Builder
	for _, n := range s.Lab.Nodes {
		for line := range strings.Lines(try.Get(n.Run("nft", "list", "tables"))) {
			if strings.Contains(line, " keepvip") {
				continue
			}
			all.WriteString(try.Get(n.Run("nft", append([]string{"-s", "list"}, strings.Fields(line)...)...)))
		}
	}
	return all.String(), nil
}

// spreadLeavesNothing looks for what is left on the hosts when keepvip has ended in order, and after `keepvip cleanup` when it was killed.
func spreadLeavesNothing(host *lab.Host, _ bool) (_ Findings, err error) {
	defer try.Catch(&err)
	g := try.Get(Prepare(host, Config{Product: WithSpread{}, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}, Lab: lab.Config{OffLink: true}}))
	defer g.Close()
	s := &Spreading{Group: g, greeters: make([]*lab.Greeter, len(g.Lab.Nodes))}
	before := make([]lab.State, len(g.Lab.Nodes))
	for i, n := range g.Lab.Nodes {
		before[i] = try.Get(n.State())
	}
	try.Do(s.begin(0))
	stopped, killed := g.Lab.Nodes[:2], g.Lab.Nodes[2]
	for _, n := range stopped {
		try.Do(g.terminated(n))
	}
	try.Do(g.Daemon(killed).Kill9())
	try.Get(g.Daemon(killed).Wait(2 * time.Second))
	try.Do(Keepvip{}.order(killed, "cleanup"))
	left, what := 0, ""
	for i, n := range g.Lab.Nodes {
		after := try.Get(n.State())
		if after != before[i] {
			left++
			what += " " + n.Label + ": " + strings.Join(strings.Fields(after.Ruleset), " ")
		}
	}
	return Findings{none("hosts on which something was left"+what, left)}, nil
}

// Backends is a group of two load balancers before two servers that run no keepvip.
func Backends() SpreadConfig {
	return SpreadConfig{Nodes: 4, Running: 2, Product: WithSpread{Masquerade: true, Backends: 2}}
}

// backends are the servers without keepvip.
func (s *Spreading) backends() []*lab.Node { return s.Lab.Nodes[len(s.Lab.Nodes)-s.product.Backends:] }

// backendTold is when clients of a backend that is dead are told: its check fails three times, each after 300 ms, and its host leaves three
// questions without an answer, before its connections are ended.
const backendTold = 2500 * time.Millisecond

// BackendEvents happen to one of them: its own connections end, and those to the other go on. New ones all go to the other.
func BackendEvents() []SpreadEvent {
	return []SpreadEvent{
		{Name: "a backend's service ends and returns", Do: func(x *SpreadMove) (*lab.Node, error) {
			b := x.backends()
			x.mark("the service of %s ends", b[0].Label)
			x.unserve(b[0])
			return b[0], x.ServedBy(b[1:]...)
		}, Undo: func(x *SpreadMove) error {
			return sequence(func() error { return x.serve(x.backends()[0]) }, x.Ready)
		}},
		{Name: "a backend's node dies", Told: backendTold, Do: func(x *SpreadMove) (*lab.Node, error) {
			b := x.backends()
			x.mark("%s dies", b[0].Label)
			_, err := b[0].PowerOff()
			x.unserve(b[0])
			return b[0], sequence(func() error { return err }, func() error { return x.ServedBy(b[1:]...) }, x.watched)
		}, Undo: func(x *SpreadMove) error {
			b := x.backends()[0]
			return sequence(b.PowerOn, func() error { return x.serve(b) }, x.Ready)
		}},
	}
}

// backed is what two load balancers do with connections to servers that run no keepvip.
func backed(host *lab.Host, _ bool) (out Findings, err error) {
	defer try.Catch(&err)
	s := try.Get(OpenSpread(host, Backends()))
	defer s.end(&err)
	for i, target := range s.Targets() {
		out = append(out, try.Get(s.Share(s.clients()[i%2], target, 1000)).Findings(len(s.backends()), 16)...)
	}
	for _, e := range BackendEvents() {
		k := try.Get(s.Keep(e, spreadConnected))
		k.Disguised = 0 // as it is with masquerade
		out = append(out, k.Findings(e).of(e.Name)...)
	}
	return out, nil
}

// slotOwners are the members that a node's kernel sends the packets of each slot to.
func (s *Spreading) slotOwners(n *lab.Node) (_ []netip.Addr, err error) {
	defer try.Catch(&err)
	text := try.Get(n.Run("nft", "-j", "list", "map", "ip", "keepvip-spread-apiserver", "owners"))
	var listed struct {
		Nftables []struct {
			Map struct {
				Size int                  `json:"size"`
				Elem [][2]json.RawMessage `json:"elem"`
			} `json:"map"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal([]byte(text), &listed); err != nil {
		return nil, fmt.Errorf("trial: the slots of %s: %w", n.Label, err)
	}
	var owners []netip.Addr
	for _, l := range listed.Nftables {
		if l.Map.Size == 0 {
			continue
		}
		owners = slices.Repeat([]netip.Addr{n.Address}, l.Map.Size) // those that it serves itself are not listed
		for _, e := range l.Map.Elem {
			var slot int
			var owner netip.Addr
			if err := errors.Join(json.Unmarshal(e[0], &slot), json.Unmarshal(e[1], &owner)); err != nil {
				return nil, fmt.Errorf("trial: a slot of %s: %w", n.Label, err)
			}
			if slot >= len(owners) {
				return nil, fmt.Errorf("trial: %s has slot %d of %d", n.Label, slot, len(owners))
			}
			owners[slot] = owner
		}
	}
	if len(owners) == 0 {
		return nil, fmt.Errorf("trial: %s has no slots: %s", n.Label, text)
	}
	return owners, nil
}

// movedSlots compares two tables: the part of all slots that have another owner, in per cent, and how many of them one that is not the new member.
// A table of more members may have more slots, each a part of one before.
func movedSlots(before, after []netip.Addr, joined netip.Addr) (share float64, others int) {
	moved := 0
	for slot, owner := range after {
		if owner == before[slot*len(before)/len(after)] {
			continue
		}
		if moved++; owner != joined {
			others++
		}
	}
	return 100 * float64(moved) / float64(len(after)), others
}

// fourthJoins has a fourth member join three that have connections.
func fourthJoins(host *lab.Host, _ int) (_ Findings, err error) {
	defer try.Catch(&err)
	s := try.Get(OpenSpread(host, SpreadConfig{Nodes: 4, Running: 3}))
	defer s.end(&err)
	first, fourth := s.Lab.Nodes[0], s.Lab.Nodes[3]
	before := try.Get(s.slotOwners(first))
	e := SpreadEvent{Name: "a fourth member joins", Do: func(x *SpreadMove) (*lab.Node, error) {
		x.mark("the fourth begins")
		return nil, sequence(x.started(fourth), x.settledAgain, x.watched)
	}}
	k := try.Get(s.Keep(e, spreadConnected))
	var after []netip.Addr
	differ := 0
	for _, n := range s.Lab.Nodes {
		owners := try.Get(s.slotOwners(n))
		if after == nil {
			after = owners
		}
		differ += count(!slices.Equal(owners, after))
	}
	share, others := movedSlots(before, after, fourth.Address)
	out := Findings{
		{What: "slots that moved", Got: share, Limit: 25, Unit: "%"}, none("to another than the fourth", others), none("nodes with another table", differ),
	}
	out = append(out, k.Findings(e)...)
	more, err := s.shares(s.Lab.Nodes...)
	return append(out, more...), err
}
