package virtualrouter

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
)

// merge adds what the members say about themselves to what was heard of them in advertisements.
func (x *handoverProtocol) merge(now time.Time, list []election.Member) []election.Member {
	if x == nil {
		return list
	}
	entry := func(a netip.Addr) *election.Member {
		at := slices.IndexFunc(list, func(o election.Member) bool { return o.Address.WithZone("") == a })
		if at < 0 {
			list = append(list, election.Member{Address: a})
			at = len(list) - 1
		}
		return &list[at]
	}
	for i := range x.list {
		m := &x.list[i]
		o := entry(m.Address)
		silent := x.silentNow(m, o.State == election.Active, now)
		fill(o, m)
		o.Silent = silent
	}
	for i := range x.silent {
		o := entry(x.silent[i].Address)
		o.Spread = spreadOf(&x.silent[i])
		if o.State == election.Active {
			continue // it advertises
		}
		fill(o, &x.silent[i])
		o.Silent, o.Draining = true, false
	}
	slices.SortFunc(list, func(a, b election.Member) int { return a.Address.Compare(b.Address) })
	return list
}

func fill(o *election.Member, m *members.Member) {
	f := m.Peer
	o.Speaks, o.Unheard, o.Node, o.Software = true, false, f.Node, f.Software
	o.Fit, o.Unfit, o.Code, o.Priority, o.State, o.Draining = f.Fit, f.Reason, f.Code, f.Priority, stateOf(f.State), f.Draining
	o.NoCandidate, o.Spread = f.NoCandidate, spreadOf(m)
	if m.Heard.After(o.LastHeard) {
		o.LastHeard = m.Heard
	}
}

// withStatus adds what this node tells the others about itself.
func (x *handoverProtocol) withStatus(self election.Member) election.Member {
	if x == nil {
		return self
	}
	if own := x.spread.set; own != nil {
		own := *own
		own.Fit, own.Every = x.takes(), x.members.Every()
		self.Spread = &own
	}
	self.Speaks, self.Node, self.Software = true, x.cfg.Node, x.cfg.Software
	return self
}
