package election

import (
	"slices"

	membership "github.com/keepvip/keepvip/members"
)

// merge adds what the members say about themselves to what was heard of them in advertisements.
func (x *exchange) merge(list []Member) []Member {
	if x == nil {
		return list
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.list {
		m := &x.list[i]
		at := slices.IndexFunc(list, func(o Member) bool { return o.Address.WithZone("") == m.Address })
		if at < 0 {
			list = append(list, Member{Address: m.Address})
			at = len(list) - 1
		}
		list[at].fill(m)
	}
	slices.SortFunc(list, func(a, b Member) int { return a.Address.Compare(b.Address) })
	return list
}

func (o *Member) fill(m *membership.Member) {
	f := m.Facts
	o.Speaks, o.Node, o.Software = true, f.Node, f.Software
	o.Fit, o.Unfit, o.Priority, o.State, o.Serves = f.Fit, f.Reason, f.Priority, stateOfMember(f.State), f.Serves
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

// rejected counts the members' messages that were refused.
func (x *exchange) rejected() map[string]uint64 {
	if x == nil {
		return nil
	}
	out := map[string]uint64{}
	for reason, n := range x.cfg.Wire.Rejected() {
		out[string(reason)] = n
	}
	return out
}

// introduce adds what this node tells the others about itself.
func (x *exchange) introduce(self Member) Member {
	if x == nil {
		return self
	}
	self.Speaks, self.Node, self.Software = true, x.cfg.Machine.Node, x.cfg.Machine.Software
	return self
}
