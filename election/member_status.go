package election

import (
	"net/netip"
	"slices"
	"time"

	membership "github.com/keepvip/keepvip/members"
)

// merge adds what the members say about themselves to what was heard of them in advertisements.
func (x *handoverProtocol) merge(now time.Time, list []Member) []Member {
	if x == nil {
		return list
	}
	entry := func(a netip.Addr) *Member {
		at := slices.IndexFunc(list, func(o Member) bool { return o.Address.WithZone("") == a })
		if at < 0 {
			list = append(list, Member{Address: a})
			at = len(list) - 1
		}
		return &list[at]
	}
	for i := range x.list {
		m := &x.list[i]
		o := entry(m.Address)
		silent := x.silentNow(m, o.State == Active, now)
		o.fill(m)
		o.Silent = silent
	}
	for i := range x.silent {
		o := entry(x.silent[i].Address)
		if o.State == Active {
			continue // it advertises
		}
		o.fill(&x.silent[i])
		o.Silent, o.Draining = true, false
	}
	slices.SortFunc(list, func(a, b Member) int { return a.Address.Compare(b.Address) })
	return list
}

func (o *Member) fill(m *membership.Member) {
	f := m.Peer
	o.Speaks, o.Node, o.Software = true, f.Node, f.Software
	o.Fit, o.Unfit, o.Priority, o.State, o.Draining = f.Fit, f.Reason, f.Priority, stateOfMember(f.State), f.Draining
	if m.Heard.After(o.LastHeard) {
		o.LastHeard = m.Heard
	}
}

func stateOfMember(s membership.State) State {
	switch s {
	case membership.Active:
		return Active
	case membership.Backup:
		return Backup
	default:
		return Initialize
	}
}

// withStatus adds what this node tells the others about itself.
func (x *handoverProtocol) withStatus(self Member) Member {
	if x == nil {
		return self
	}
	self.Speaks, self.Node, self.Software = true, x.cfg.Node, x.cfg.Software
	return self
}
