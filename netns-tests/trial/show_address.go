package trial

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// addressDeleted deletes the addresses of the holder by hand, one after the
// other, and measures how long each was away.
func addressDeleted(host *lab.Host, full bool) (_ Findings, err error) {
	defer try.Catch(&err)
	times := sized(full, 100, 6)
	g := try.Get(Open(host, Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}}))
	defer g.Close()
	holder := try.Get(g.Settle())
	m := try.Get(g.Lab.Measure(lab.MeasureConfig{Targets: g.Addresses, NoDirect: true}))
	for i := range times {
		time.Sleep(60 * time.Millisecond)
		try.Do(holder.RemoveAddress(prefix(g.Addresses[i%2])))
	}
	time.Sleep(500 * time.Millisecond)
	r := m.Stop()
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
	}, nil
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

// thousand lets the holder of a thousand addresses die, and measures from the
// first bind on the taker to the last answering there; and what holding them
// costs. In full keepalived does the same, in turn.
func thousand(v6 bool) func(*lab.Host, bool) (Findings, error) {
	return func(host *lab.Host, full bool) (_ Findings, err error) {
		defer try.Catch(&err)
		limit, watch, times := 150*time.Millisecond, 4*time.Second, 1
		switch {
		case full:
			watch, times = 60*time.Second, 3
		case v6:
			limit = 500 * time.Millisecond // the kernel's own part of it, on a slow machine
		}
		var ours, bound, others []time.Duration
		var cpu float64
		for range times {
			if full {
				other, err := thousandOf(host, Keepalived{}, v6, 0)
				if err != nil {
					return nil, fmt.Errorf("keepalived: %w", err)
				}
				others = append(others, other.answering)
			}
			own := try.Get(thousandOf(host, Keepvip{}, v6, watch))
			ours, bound, cpu, watch = append(ours, own.answering), append(bound, own.bound), max(cpu, own.cpu), 0
		}
		out := Findings{
			took("first bound to last answering", SpreadOf(ours).Median, limit), told("to last bound", SpreadOf(bound).Median),
			{What: "holder's CPU at 1 s", Got: cpu, Limit: 1.5, Unit: "%"},
		}
		if full {
			out = append(out, took("the same less keepalived's", SpreadOf(ours).Median-SpreadOf(others).Median, 0), told("keepalived's", SpreadOf(others).Median))
		}
		return out, nil
	}
}

// thousandCost is what a thousand addresses cost the taker.
type thousandCost struct {
	answering, bound time.Duration // from the first bound to the last
	cpu              float64       // per cent of a core, afterwards
	died             time.Duration // when the holder did, in the report
	report           *lab.Report
}

func thousandOf(host *lab.Host, p Product, v6 bool, watch time.Duration) (cost thousandCost, err error) {
	defer try.Catch(&err)
	g := try.Get(OpenThousand(p, v6)(host))
	defer g.Close()
	addrs := g.Settings[0].Addresses
	holder := try.Get(g.Settle())
	taker := g.Lab.Nodes[2-holder.ID]
	if cost, err = takeAll(g, holder, taker, addrs); err != nil || watch == 0 {
		return cost, err
	}
	time.Sleep(3 * time.Second) // past the burst of announcements
	before := try.Get(g.Daemon(taker).CPU())
	began := time.Now()
	time.Sleep(watch)
	after, err := g.Daemon(taker).CPU()
	cost.cpu = float64(after-before) / float64(time.Since(began)) * 100
	return cost, err
}

func takeAll(g *Group, holder, taker *lab.Node, addrs []netip.Addr) (cost thousandCost, err error) {
	defer try.Catch(&err)
	a := try.Get(g.Lab.StartAsker(taker, addrs))
	m := try.Get(g.Lab.Measure(lab.MeasureConfig{Targets: addrs[:1], NoDirect: true}))
	cost.died = try.Get(holder.PowerOff())
	last, err := a.Finish(20 * time.Second)
	r := m.Stop()
	cost.report = r
	if err != nil {
		return cost, fmt.Errorf("%w\n%s", err, g.Logs())
	}
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
	return cost, nil
}
