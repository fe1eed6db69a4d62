package trial

import (
	"fmt"
	"net/netip"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// Shared is how new connections were divided.
type Shared struct {
	lab.Sampled
	Target netip.AddrPort
	Count  int    // connections that were begun
	Holder string // the node that held the address when the last one had ended; "": none, or several
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
	if holders := s.Holders(); len(holders) == 1 {
		got.Holder = holders[0].Label
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
