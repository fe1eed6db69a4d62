package trial

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// longConnection holds a connection through the address while the holder is
// stopped, killed, and dies.
func longConnection(host *lab.Host, full bool) (Findings, error) {
	times := sized(full, 5, 1)
	var out Findings
	for i, f := range []struct {
		name  string
		fault Fault
	}{{"SIGTERM", Terminated}, {"kill -9", DaemonKilled}, {"node death", NodeDeath}} {
		addrs := []netip.Addr{lab.VIP4, lab.VIP6}
		if !full {
			addrs = addrs[i%2 : i%2+1]
		}
		for _, a := range addrs {
			told, back, err := longest(host, a, f.fault, times)
			if err != nil {
				return out, fmt.Errorf("%s: %w", f.name, err)
			}
			out = append(out, took(fmt.Sprintf("%s, %s: told after", f.name, a), told, time.Second), took("connected again after", back, time.Second))
		}
	}
	return out, nil
}

// againWithin ends the wait for a client that is never told, or never connects again. How long the others took is a figure.
const againWithin = 30 * time.Second

// longest repeats a fault and returns the longest times from the takeover to the
// client's reset, and to its next working connection.
func longest(host *lab.Host, a netip.Addr, fault Fault, times int) (reset, back time.Duration, err error) {
	defer try.Catch(&err)
	g := try.Get(Open(host, Config{Addresses: []netip.Addr{a}}))
	defer g.Close()
	for _, n := range g.Lab.Nodes {
		t := try.Get(n.StartTicker())
		defer t.Close()
	}
	for range times {
		try.Get(g.Settle())
		stop := try.Get(g.Lab.Follow(g.Lab.Client.Namespace, a))
		res, err := fault(g)
		s := stop(againWithin)
		if err != nil {
			return 0, 0, err
		}
		taken := res.takenAt(a)
		if s.Connected == 0 || taken == 0 {
			return 0, 0, fmt.Errorf("trial: the connection to %s was told %q at %v and came back at %v; taken over at %v\n%s", a, s.How, s.Broken, s.Connected, taken, g.Logs())
		}
		reset, back = max(reset, s.Broken-taken), max(back, s.Connected-taken)
	}
	return reset, back, nil
}

// noTrace compares the host before keepvip and after, for three ends.
func noTrace(g *Group, _ bool) (out Findings) {
	n := g.Lab.Nodes[0]
	end := func() error { return g.terminated(n) }
	kill := func() (err error) {
		_ = g.Daemon(n).Kill9()
		if _, err = g.Daemon(n).Wait(2 * time.Second); err == nil && !n.Holds(lab.VIP4) {
			err = errors.New("trial: a killed daemon has left nothing behind, so nothing is shown")
		}
		return err
	}
	settle := func() error { _, err := g.Settle(); return err }
	start := func() error { return g.Start(n) }

	for _, e := range []struct {
		name  string
		steps []func() error
	}{
		{"SIGTERM", []func() error{start, settle, end}},
		{"kill -9 and cleanup", []func() error{start, settle, kill, func() error { return Keepvip{}.order(n, "cleanup") }}},
		{"kill -9, restart and SIGTERM", []func() error{start, settle, kill, start, settle, end}},
	} {
		before := try.Get(n.State())
		if err := sequence(e.steps...); err != nil {
			try.Do(fmt.Errorf("%s: %w", e.name, err))
		}
		out = append(out, none(e.name+" left something", count(before != try.Get(n.State()))))
	}
	return out
}

// identity looks for the virtual addresses wherever a program could take one for
// the node's own.
func identity(g *Group, _ bool) (out Findings) {
	n := try.Get(g.Settle())
	for _, to := range []string{"10.77.0.201", "10.77.0.101", "192.0.2.1", "fd77::201", "fd77::101", "2001:db8::1"} {
		try.Get(n.Run("ip", "route", "replace", "default", "via", g.Lab.Client.Address.String()))
		try.Get(n.Run("ip", "-6", "route", "replace", "default", "via", g.Lab.Client.Addr6.String()))
		route := try.Get(n.Run("ip", "route", "get", to))
		from := try.Get(sourceTo(n, to))
		out = append(out, none("source toward "+to+" by route", count(isOne(route, g.Addresses))), none("by connect", count(isOne(from+" ", g.Addresses))))
	}
	for _, family := range []string{"-4", "-6"} {
		list := try.Get(n.Run("ip", family, "-o", "addr", "show", "dev", n.NICs[0].Name, "scope", "global", "-deprecated"))
		out = append(out, none("an address to use, by ip "+family, count(strings.Contains(list, lab.VIP4.String()+"/") || strings.Contains(list, lab.VIP6.String()+"/"))))
	}
	return append(out, none("first IPv4 address of the interface", count(try.Get(firstGlobal(n)) == lab.VIP4)))
}

func isOne(text string, addrs []netip.Addr) bool {
	for _, a := range addrs {
		if strings.Contains(text, " src "+a.String()+" ") || text == a.String()+" " {
			return true
		}
	}
	return false
}

// sourceTo is the address from which an ordinary socket would speak.
func sourceTo(n *lab.Node, to string) (string, error) {
	var from string
	err := n.Do(func() (err error) {
		defer try.Catch(&err)
		c := try.Get(net.Dial("udp", net.JoinHostPort(to, "9")))
		defer c.Close()
		from = netip.MustParseAddrPort(c.LocalAddr().String()).Addr().String()
		return nil
	})
	return from, err
}

// firstGlobal is what Kubernetes' ChooseHostInterface and etcd's GetDefaultHost
// come to on a node with one interface: the first IPv4 address, in the order of
// the kernel, of the interface of the default route that is neither loopback nor
// link-local.
func firstGlobal(n *lab.Node) (netip.Addr, error) {
	var found netip.Addr
	err := n.Do(func() (err error) {
		defer try.Catch(&err)
		link := try.Get(net.InterfaceByName(n.NICs[0].Name))
		for _, a := range try.Get(link.Addrs()) {
			p, err := netip.ParsePrefix(a.String())
			if err == nil && p.Addr().Is4() && p.Addr().IsGlobalUnicast() {
				found = p.Addr()
				return nil
			}
		}
		return fmt.Errorf("trial: %s has no address", link.Name)
	})
	return found, err
}
