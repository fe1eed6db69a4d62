package virtualrouter

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/members"
)

// rememberFor is for how long a member is shown of which nothing is heard.
const rememberFor = 24 * time.Hour

// roster is what the members have said of themselves, as far as it is remembered. In plain VRRP it stays empty.
type roster struct {
	list   []members.Member // that are heard, by address
	spare  []members.Member // memory for the next list
	silent []members.Member // that were heard, and have not said good-bye
	gone   []members.Member // that have said good-bye lately, or that they are not fit, with their last word
	known  []netip.Addr     // of those in list when it was updated last
}

// news is what an update of the roster has changed.
type news struct {
	lost    []members.Member // that are silent now
	back    []members.Member // that were silent, as they were heard last
	deaf    []members.Member // that say since this update that nothing arrives there
	hears   []members.Member // that do not say so any more
	changed bool             // one is another to those that spread
	others  bool             // there are others than before
}

// update takes over who is heard now, and keeps who was. As a rule those are the same, and say the same: then it takes little of the stack, which each of
// hundreds of entries has.
func (r *roster) update(now time.Time, list []members.Member) (n news) {
	n.others = len(r.known) != len(list)
	for i := 0; !n.others && i < len(list); i++ {
		n.others = r.known[i] != list[i].Address
	}
	same := len(r.list) == len(list) && len(r.silent) == 0
	for i := 0; same && i < len(list); i++ {
		was, is := &r.list[i], &list[i]
		same = was.Address == is.Address && was.Peer.Deaf == is.Peer.Deaf
		n.changed = n.changed || same && !alike(was, is)
	}
	if !same {
		r.compare(now, list, &n)
	}
	r.list, r.spare = list, r.list
	if n.others {
		r.known = nil
		for i := range list {
			r.known = append(r.known, list[i].Address)
		}
	}
	return n
}

// compare finds out who has come, gone, become deaf, or hears again.
func (r *roster) compare(now time.Time, list []members.Member, n *news) {
	n.changed = !slices.EqualFunc(r.list, list, func(a, b members.Member) bool { return alike(&a, &b) })
	for i := range r.list {
		if o := &r.list[i]; members.Find(list, o.Address) == nil {
			n.lost = append(n.lost, *o)
		}
	}
	for i := range list {
		o := &list[i]
		was := members.Find(r.list, o.Address)
		switch before := was != nil && was.Peer.Deaf; {
		case o.Peer.Deaf && !before:
			n.deaf = append(n.deaf, *o)
		case before && !o.Peer.Deaf:
			n.hears = append(n.hears, *o)
		}
	}
	r.silent = append(r.silent, n.lost...)
	r.silent = slices.DeleteFunc(r.silent, func(o members.Member) bool {
		back := members.Find(list, o.Address) != nil
		if back {
			n.back = append(n.back, o)
		}
		return back || now.Sub(o.Heard) > rememberFor
	})
	for len(r.silent) > maxMembers {
		i := members.Least(r.silent)
		r.silent = slices.Delete(r.silent, i, i+1)
	}
}

// forget drops a member that has said good-bye, and tells whether it was shown: nobody misses it.
func (r *roster) forget(a netip.Addr) bool {
	shown := r.has(a)
	r.list, r.silent = without(r.list, a), without(r.silent, a)
	return shown
}

// clear drops all, of whom nobody is missed. Their last words stay.
func (r *roster) clear() { r.list, r.silent = nil, nil }

// has tells whether that is a member that has not said good-bye.
func (r *roster) has(a netip.Addr) bool {
	return members.Find(r.list, a) != nil || members.Find(r.silent, a) != nil
}

// left tells of whom no answer can be expected: a member that is silent, has said good-bye, or is deaf.
func (r *roster) left(a netip.Addr) bool {
	if o := members.Find(r.list, a); o != nil {
		return o.Peer.Deaf
	}
	return members.Find(r.silent, a) != nil || members.Find(r.gone, a) != nil
}

func without(list []members.Member, a netip.Addr) []members.Member {
	return slices.DeleteFunc(slices.Clone(list), func(m members.Member) bool { return m.Address == a })
}
