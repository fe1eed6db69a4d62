package virtualrouter

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// merge adds what the members say about themselves to what was heard of them in advertisements, of which so many may be missing before an
// Active is down.
func (r *roster) merge(now time.Time, adverts int, list []election.Member) []election.Member {
	entry := func(a netip.Addr) *election.Member {
		at := slices.IndexFunc(list, func(o election.Member) bool { return o.Address.WithZone("") == a })
		if at < 0 {
			list = append(list, election.Member{Address: a})
			at = len(list) - 1
		}
		return &list[at]
	}
	for i := range r.list {
		m := &r.list[i]
		o := entry(m.Address)
		silent := o.State != election.Active && silentNow(m, adverts, now)
		fill(o, m)
		if silent {
			o.Silence()
		}
	}
	for i := range r.silent {
		o := entry(r.silent[i].Address)
		o.Spread = spreadOf(&r.silent[i])
		if o.State == election.Active {
			continue // it advertises
		}
		fill(o, &r.silent[i])
		o.Silence()
		o.Draining = false
	}
	sortByAddress(list)
	return list
}

// sortByAddress looks first whether there is anything to do: sorting takes some of the stack, which each of hundreds of entries has.
func sortByAddress(list []election.Member) {
	by := func(a, b election.Member) int { return a.Address.Compare(b.Address) }
	if !slices.IsSortedFunc(list, by) {
		slices.SortFunc(list, by)
	}
}

func fill(o *election.Member, m *members.Member) {
	f := m.Peer
	o.Unheard, o.Node, o.Version, o.Fit, o.Unfit, o.Code = false, f.Node, f.Software, new(f.Fit), f.Reason, f.Code
	o.Priority, o.State, o.Was, o.Draining = f.Priority, election.State(f.State), "", f.Draining
	o.NoCandidate, o.Spread = f.NoCandidate, spreadOf(m)
	if m.Heard.After(o.LastHeard) {
		o.LastHeard = m.Heard
	}
}

// silentNow tells of a member that does not advertise whether it was the holder, and is not believed any more: its claim does not last.
func silentNow(o *members.Member, adverts int, now time.Time) bool {
	f := o.Peer
	if adverts == 0 {
		adverts = 3
	}
	return f.State == vrrp.Active && f.Claims &&
		now.Sub(o.Heard) > time.Duration(adverts+1)*f.Router.Interval
}
