package trial

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// saidWithin is for how long members need to say who their clients are, each once, when they have counted them.
const saidWithin = 3 * time.Second

// clientsAreKnown waits until the members know of so many connections, or of those that live where the address has moved since, and have told each other
// whose they are.
func (s *Spreading) clientsAreKnown(count int) (err error) {
	defer try.Catch(&err)
	nodes := s.Running
	switch {
	case s.product.Masquerade:
		nodes = s.Holders // who alone counts them
	case s.product.Tier != nil:
		nodes = s.balancers // a member knows those of its own cluster
	}
	for end := time.Now().Add(SettleLimit); ; time.Sleep(50 * time.Millisecond) {
		counting := nodes()
		known := len(counting) > 0
		for _, n := range counting {
			var doc spreadDoc
			try.Do(AskStatus(n, &doc))
			known = known && doc.connections(false) >= min(count, s.alive(s.Lab.Nodes...))
		}
		if known {
			time.Sleep(saidWithin)
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("trial: the members do not know of %d connections\n%s", count, s.Tables())
		}
	}
}

// spreadDoc is what the lab reads of the connections of each member, in the status and in `keepvip spread -o json`.
type spreadDoc struct {
	VIPs []struct {
		Spread struct {
			Members []struct {
				Self        bool `json:"self"`
				Connections int  `json:"connections"`
			} `json:"members"`
		} `json:"spread"`
	} `json:"vips"`
}

// connections are those of all members, or of the node itself alone.
func (d spreadDoc) connections(own bool) (sum int) {
	for _, v := range d.VIPs {
		for _, m := range v.Spread.Members {
			if m.Self || !own {
				sum += m.Connections
			}
		}
	}
	return sum
}

// balancers are the nodes of a tier before all clusters whose daemon runs.
func (s *Spreading) balancers() []*lab.Node {
	return slices.DeleteFunc(s.Running(), func(n *lab.Node) bool { return !s.product.Tier.balances(n) })
}

// Shared is how new connections were divided.
type Shared struct {
	lab.Sampled
	Target netip.AddrPort
	Count  int // connections that were begun
}

// Share has a client begin so many connections when all that are to serve do so: these nodes, or, with none, all members that run.
func (s *Spreading) Share(from *lab.Namespace, target netip.AddrPort, count int, serving ...*lab.Node) (Shared, error) {
	ready := s.Ready
	if len(serving) > 0 {
		ready = func() error { return s.ServedBy(serving...) }
	}
	got := Shared{Target: target, Count: count}
	err := ready()
	if err == nil {
		got.Sampled, err = s.Lab.Sample(from, target, count)
	}
	return got, err
}

// Findings compares with how far off its even share a member may be, in per cent.
func (s Shared) Findings(members int, limit float64) Findings {
	return Findings{
		{What: fmt.Sprintf("%d to %s (%s): worst off by", s.Count, s.Target, s.Sampled), Got: s.Worst(members), Limit: limit, Unit: "%"},
		none("failed", s.Count-s.Served()),
	}
}
