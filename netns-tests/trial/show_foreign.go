package trial

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Conflict is a foreign host that a node's keepvip reports.
type Conflict struct {
	Address string `json:"address"`
	MAC     string `json:"mac"`
}

// reports tells whether the node's keepvip reports that a host with this MAC
// claims every one of the addresses.
func reports(n *lab.Node, mac string, addrs []netip.Addr) bool {
	s, err := Keepvip{}.Status(n)
	if err != nil || len(s.VIPs) != 1 {
		return false
	}
	for _, a := range addrs {
		if !slices.Contains(s.VIPs[0].Conflicts, Conflict{Address: a.String(), MAC: mac}) {
			return false
		}
	}
	return true
}

func foreignAnnounces(g *Group, _ bool) Findings { return foreignHost(g, true) }

func foreignIsSilent(g *Group, _ bool) Findings { return foreignHost(g, false) }

// foreignHost gives the addresses to a host that knows nothing of the election.
func foreignHost(g *Group, announces bool) Findings {
	time.Sleep(time.Second) // past the probes of the start
	foreign, limit := g.Lab.Client, 30*time.Second
	for _, a := range g.Addresses {
		try.Do(foreign.Take(a))
	}
	began := time.Now()
	if announces {
		limit = time.Second
		for _, a := range g.Addresses {
			try.Do(foreign.Announce(a))
		}
	}
	var slowest time.Duration
	for _, n := range g.Lab.Nodes {
		try.Get(until(40*time.Second, n.Label+" reports the foreign host", func() bool { return reports(n, foreign.MAC.String(), g.Addresses) }))
		slowest = max(slowest, time.Since(began))
	}
	return Findings{took("reported by all nodes after", slowest, limit), none("nodes whose log does not name the MAC", silentLogs(g, foreign.MAC.String()))}
}

func silentLogs(g *Group, mac string) int {
	silent := 0
	for _, n := range g.Lab.Nodes {
		if !strings.Contains(g.Daemon(n).Log(), mac) {
			silent++
		}
	}
	return silent
}

// foreignFirst starts keepvip while a foreign host has the address, for each
// family, and at two intervals: one leaves the probes time, one does not.
func foreignFirst(host *lab.Host, full bool) (out Findings, err error) {
	defer try.Catch(&err)
	for _, interval := range []time.Duration{100 * time.Millisecond, 10 * time.Millisecond} {
		for _, a := range []netip.Addr{lab.VIP4, lab.VIP6} {
			if !full && a.Is6() != (interval < 50*time.Millisecond) {
				continue
			}
			bound, said := try.Two(refusesFirst(host, a, interval))
			out = append(out, none(fmt.Sprintf("%s at %v bound", a, interval), bound), none(fmt.Sprintf("%s at %v not said", a, interval), said))
		}
	}
	return out, nil
}

func refusesFirst(host *lab.Host, a netip.Addr, interval time.Duration) (bound, unsaid int, err error) {
	defer try.Catch(&err)
	g := try.Get(Prepare(host, Config{Addresses: []netip.Addr{a}, Interval: interval}))
	defer g.Close()
	try.Do(g.Lab.Client.Take(a))
	m := try.Get(g.Lab.Measure(lab.MeasureConfig{Targets: g.Addresses, NoDirect: true}))
	try.Do(g.StartAll())
	time.Sleep(2 * time.Second)
	r := m.Stop()
	for _, n := range g.Lab.Nodes {
		bound += len(r.AnnouncementsOf(n.ID, a)) + r.BindsOn(n.ID, a)
		s := try.Get(Keepvip{}.Status(n))
		if !strings.Contains(s.VIPs[0].Reason+s.VIPs[0].Unfit, "refused") {
			unsaid++
		}
	}
	return bound, unsaid, nil
}
