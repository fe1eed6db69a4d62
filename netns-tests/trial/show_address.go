package trial

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// addressDeleted deletes the addresses of the holder by hand, one after the
// other, and measures how long each was away.
func addressDeleted(g *Group, full bool) Findings {
	times := sized(full, 100, 6)
	holder := try.Get(g.Settle())
	m := try.Get(g.Lab.Measure(lab.MeasureConfig{Targets: g.Addresses, NoDirect: true}))
	for i := range times {
		time.Sleep(60 * time.Millisecond)
		try.Do(holder.RemoveAddress(prefix(g.Addresses[i%2])))
	}
	time.Sleep(500 * time.Millisecond)
	r := m.Stop()
	try.Get(g.Settle()) // and a client is answered
	away, takeovers, back := time.Duration(0), 0, 0
	gone := map[netip.Addr]time.Duration{}
	for _, b := range r.Binds {
		switch {
		case b.Node != holder.ID:
			takeovers++
		case !b.Added:
			gone[b.Address] = b.At
		case gone[b.Address] > 0:
			away = max(away, b.At-gone[b.Address])
			back++
			delete(gone, b.Address)
		}
	}
	return Findings{
		took("away at most", away, 50*time.Millisecond), none("taken over", takeovers), none("not put back", times-back),
		told("outage of a client", r.Longest()),
	}
}

// manyAddresses are the virtual address and others outside of every subnet.
func manyAddresses(count int, v6 bool) []netip.Addr {
	addrs := []netip.Addr{lab.VIP4}
	if v6 {
		addrs[0] = lab.VIP6
	}
	for i := 1; i < count; i++ {
		if v6 {
			addrs = append(addrs, netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x99, 14: byte(i >> 8), 15: byte(i)}))
		} else {
			addrs = append(addrs, netip.AddrFrom4([4]byte{10, 99, byte(i >> 8), byte(i)}))
		}
	}
	return addrs
}

// thousand lets the holder of a thousand addresses die, keepvip's and keepalived's in turn, and measures from the first bind on the taker to the last
// that answers there; and what holding them costs.
func thousand(v6 bool) func(*lab.Host, bool) (Findings, error) {
	return func(host *lab.Host, _ bool) (_ Findings, err error) {
		defer try.Catch(&err)
		var ours, bound, others []time.Duration
		var cpu float64
		for i := range 3 {
			other := try.Get(thousandOf(host, Keepalived{}, v6, 0))
			own := try.Get(thousandOf(host, Keepvip{}, v6, []time.Duration{time.Minute, 0, 0}[i]))
			others, ours, bound, cpu = append(others, other.answering), append(ours, own.answering), append(bound, own.bound), max(cpu, own.cpu)
		}
		return Findings{
			took("first bound to last answering", SpreadOf(ours).Median, 150*time.Millisecond), told("to last bound", SpreadOf(bound).Median),
			{What: "holder's CPU at 1 s", Got: cpu, Limit: 1.5, Unit: "%"},
			took("the same less keepalived's", SpreadOf(ours).Median-SpreadOf(others).Median, 0), told("keepalived's", SpreadOf(others).Median),
		}, nil
	}
}

// thousandCost is what a thousand addresses cost the taker.
type thousandCost struct {
	answering, bound time.Duration // from the first bound to the last
	cpu              float64       // per cent of a core, afterwards, while it is watched
}

// thousandOf has the holder of two die. They have the addresses in one election; the group's address is the first of them.
func thousandOf(host *lab.Host, p Product, v6 bool, watch time.Duration) (cost thousandCost, err error) {
	defer try.Catch(&err)
	addrs := manyAddresses(1000, v6)
	g := try.Get(openBy(host, Config{Lab: lab.Config{Nodes: 2}, Product: p, Addresses: addrs, Priorities: []int{200, 100}, Interval: time.Second}, func(g *Group) {
		try.Do(g.StartAll())
		g.Addresses = g.Addresses[:1]
	}))
	defer g.end(&err)
	holder := try.Get(g.Settle())
	taker := g.Lab.Nodes[2-holder.ID]
	a := try.Get(g.Lab.StartAsker(taker, addrs))
	m := try.Get(g.Lab.Measure(lab.MeasureConfig{Targets: addrs[:1], NoDirect: true}))
	try.Get(holder.PowerOff())
	last, err := a.Finish(20 * time.Second)
	r := m.Stop()
	try.Do(err)
	var first time.Duration
	for _, b := range r.Binds {
		if b.Node == taker.ID && b.Added {
			if first == 0 {
				first = b.At
			}
			cost.bound = b.At - first
		}
	}
	cost.answering = last - first
	if watch > 0 {
		time.Sleep(3 * time.Second) // past the burst of announcements
		cost.cpu = g.busiest(watch)
	}
	return cost, nil
}

// addressEvents counts the address events that a holder's host has by the renewals of lifetimes, as whoever listens to rtnetlink is told them.
func addressEvents(host *lab.Host, _ bool) (_ Findings, err error) {
	defer try.Catch(&err)
	var out Findings
	for _, c := range []struct {
		addresses int
		most      float64 // of one address in a minute: a lifetime of 4 s is renewed every third of it, one of a minute three times
	}{{1, 46}, {16, 46}, {230, 5}} {
		got := try.Get(addressEventsOf(host, c.addresses, time.Minute))
		out = append(out, Measured{What: fmt.Sprintf("events of each of %d addresses", c.addresses), Got: got, Limit: c.most, Unit: "a minute"})
	}
	return out, nil
}

func addressEventsOf(host *lab.Host, addresses int, length time.Duration) (perMinute float64, err error) {
	defer try.Catch(&err)
	var all []netip.Addr
	for last := byte(15); len(all) < addresses; last++ {
		if last != 200 && last != 201 { // those hosts are there
			all = append(all, netip.AddrFrom4([4]byte{10, 77, 0, last}))
		}
	}
	g := try.Get(Open(host, Config{Lab: lab.Config{Nodes: 1}, Addresses: all}))
	defer g.Close()
	time.Sleep(3 * time.Second) // past the start
	monitor := try.Get(g.Lab.Nodes[0].Start("ip-monitor", "ip", "-o", "-4", "monitor", "address"))
	time.Sleep(length)
	try.Do(monitor.Kill9())
	seen := 0
	for line := range strings.Lines(monitor.Stdout()) {
		seen += count(strings.Contains(line, " inet ") && !strings.Contains(line, "Deleted"))
	}
	return float64(seen) / float64(addresses) / length.Minutes(), nil
}

// checking is keepvip that asks the apiserver so many times over every 100 ms.
type checking int

func (checking) Name() string { return "keepvip" }

func (c checking) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [%q]\n  checks:\n", s.Addresses[0])
	for i := range c {
		fmt.Fprintf(&b, "  - {kind: https, name: c%d, url: \"https://127.0.0.1:6443/readyz\", insecure: true, interval: 100ms, timeout: 600ms}\n", i)
	}
	return Keepvip{}.Run(n, "--config", try.Get(n.WriteFile("keepvip.yaml", b.String(), 0o644)))
}
