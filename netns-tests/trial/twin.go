package trial

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// OpenWithTwins is [Open] with a second NIC on the segment at each node.
func OpenWithTwins(host *lab.Host, cfg Config) (*Group, error) {
	return openBy(host, cfg, func(g *Group) error {
		for _, n := range g.Lab.Nodes {
			if err := n.AddTwin("eth9"); err != nil {
				return err
			}
		}
		return g.StartAll()
	})
}

// frozenTwins freeze holders that have a second NIC on the segment.
func frozenTwins() []Case {
	twin := func(interval, length time.Duration, brief bool) Case {
		return Case{Name: fmt.Sprintf("%v, for %v", interval, length), Brief: brief, Run: func(host *lab.Host, times int) (_ Findings, err error) {
			defer try.Catch(&err)
			g := try.Get(OpenWithTwins(host, Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}, Interval: interval}))
			defer g.Close()
			var r rivals
			for range times {
				res := try.Get(Frozen(length)(g))
				r.add(res, res.FaultAt+length)
			}
			return r.findings(), nil
		}}
	}
	const quick, slow = 10 * time.Millisecond, 100 * time.Millisecond
	return []Case{twin(slow, time.Second, true), twin(slow, 5*time.Second, false), twin(quick, 5*time.Second, false)}
}
