package trial

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// OpenWithTwins is [Open] with a second NIC on the segment at each node.
func OpenWithTwins(host *lab.Host, cfg Config) (*Group, error) {
	g, err := Prepare(host, cfg)
	if err != nil {
		return nil, err
	}
	for _, n := range g.Lab.Nodes {
		if err := sequence(func() error { return n.AddTwin("eth9") }, func() error { return g.Start(n) }); err != nil {
			g.Close()
			return nil, err
		}
	}
	if _, err := g.Settle(); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// frozenTwin freezes holders that have a second NIC on the segment.
func frozenTwin(host *lab.Host, full bool) (Findings, error) {
	times, length, intervals := 1, time.Second, []time.Duration{100 * time.Millisecond}
	if full {
		times, length, intervals = 20, 5*time.Second, []time.Duration{100 * time.Millisecond, 10 * time.Millisecond}
	}
	var out Findings
	for _, interval := range intervals {
		g, err := OpenWithTwins(host, Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}, Interval: interval})
		if err != nil {
			return out, err
		}
		var r rivals
		for range times {
			res, err := Frozen(length)(g)
			if err != nil {
				g.Close()
				return out, err
			}
			r.add(res, res.FaultAt+length)
		}
		g.Close()
		out = append(out, r.findings(fmt.Sprintf("at %v: ", interval))...)
	}
	return out, nil
}
