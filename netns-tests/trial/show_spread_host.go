package trial

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// spreadHosts are what a host may be like on which a load is spread: new connections of all clients succeed, and each member has its share.
func spreadHosts() (list []Case) {
	changed := func(host *lab.Host, before func(*lab.Node) error) (*Spreading, error) {
		return openSpread(host, SpreadConfig{}, before)
	}
	for _, c := range []struct {
		name   string
		before func(*lab.Node) error
	}{
		{"members as clients", func(*lab.Node) error { return nil }},
		{"rp_filter 1", func(n *lab.Node) error {
			return errors.Join(n.Sysctl("net/ipv4/conf/all/rp_filter", "1"), n.Sysctl("net/ipv4/conf/eth0/rp_filter", "1"))
		}},
		{"kube-proxy's nftables rules", func(n *lab.Node) error { return try.Err(n.RunInput(kubeProxyRules, "nft", "-f", "-")) }},
		{"kube-proxy's iptables rules", func(n *lab.Node) error { return try.Err(n.RunInput(iptablesRules, "nft", "-f", "-")) }},
		{"ip_forward 1, as on Kubernetes nodes", func(n *lab.Node) error {
			return errors.Join(n.Sysctl("net/ipv4/ip_forward", "1"), n.Sysctl("net/ipv6/conf/all/forwarding", "1"))
		}},
	} {
		list = append(list, Case{Name: c.name, Run: inside(changed, c.before, spreadOn)})
	}
	return append(list, Case{Name: "a second address with another port", Run: inside(OpenSpread, SpreadConfig{Product: WithSpread{Second: true}}, func(s *Spreading, _ int) Findings {
		try.Do(s.served([]netip.AddrPort{netip.AddrPortFrom(SecondVIP, SecondPort)}, func() []*lab.Node { return s.Lab.Nodes }))
		// A port is spread with its own address alone.
		crossed := try.Get(s.Lab.Sample(s.Lab.Client.Namespace, netip.AddrPortFrom(SecondVIP, SpreadPort), 30))
		return Findings{none("served at the port of the other address", crossed.Served())}
	})})
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

// spreadOn asks from everywhere, the nodes themselves included.
func spreadOn(s *Spreading, _ int) (out Findings) {
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
	return append(out, none("foreign tables changed", count(foreign != try.Get(s.foreignRules()))))
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
func spreadLeavesNothing(g *Group, _ bool) Findings {
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
	return Findings{none("hosts on which something was left"+what, left)}
}
