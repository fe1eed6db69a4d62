package members

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// maxMembers bounds what a flood of invented senders can make a node remember.
const maxMembers = 64

// Member is another node of the group, as it was heard last.
type Member struct {
	Address netip.Addr
	Session uint64
	Peer    PeerState
	Heard   time.Time

	first    time.Time // when it was heard first, and never forgotten since
	signed   bool      // its last message was, by a key of this node's
	claims   time.Time // since when it claims the address; zero: it does not
	unlisted time.Time // since when it says that it does not hear this node; zero: it does
	unheard  time.Time // since when it claims and no advertisement of it arrives, as far as is known
	nobody   time.Time // since when it says that it hears nobody; zero: it does not
}

// expires is when the member is forgotten if nothing more is heard.
func (m *Member) expires() time.Time { return m.Heard.Add(m.Peer.Lifetime) }

// outdated tells that what the member has said last is older than it counts.
func (m *Member) outdated(now time.Time) bool { return !now.Before(m.expires()) }

// gives tells that the member holds the address and wants to give it away.
func (m *Member) gives() bool { return m.Peer.State == vrrp.Active && !m.Peer.Fit }

// ready tells that the member could take the address.
func (m *Member) ready() bool { return m.Peer.Fit && m.Peer.State == vrrp.Backup }

// table is who was heard, by address, and when each is forgotten.
type table struct {
	list       []Member
	standstill standstill
}

// Find is the member of that address, whatever its zone; nil for none.
func Find(list []Member, a netip.Addr) *Member {
	a = a.WithZone("")
	for i := range list {
		if list[i].Address == a {
			return &list[i]
		}
	}
	return nil
}

func (t *table) find(a netip.Addr) *Member { return Find(t.list, a) }

// hear notes what a node says. With the table full, the Least makes room.
func (t *table) hear(now time.Time, r Received) {
	m, o := &r.Message, t.find(r.Source)
	switch {
	case m.Peer.Lifetime <= 0:
		t.drop(func(o Member) bool { return o.Address == r.Source })
		return
	case o == nil:
		if len(t.list) == maxMembers {
			i := Least(t.list)
			t.list = slices.Delete(t.list, i, i+1)
		}
		o = t.add(r.Source)
		o.first = now
	case o.Session != m.Session:
		*o = Member{Address: r.Source, first: o.first}
	}
	o.Session, o.Peer, o.Heard, o.signed = m.Session, m.Peer, now, r.Signed
}

// add is the place of a new member.
func (t *table) add(a netip.Addr) *Member {
	i, _ := slices.BinarySearchFunc(t.list, a, func(m Member, a netip.Addr) int { return m.Address.Compare(a) })
	t.list = slices.Insert(t.list, i, Member{Address: a})
	return &t.list[i]
}

// Least is the index of the member that is to be forgotten first: of the half that was heard for the shorter time, from its first
// message to its last, the one that was silent longest. So invented members, however many and however often each of them speaks,
// do not displace those that were there before; and those that came first, if they are invented, leave half of the places to others.
// The list is not empty.
func Least(list []Member) int {
	spans := make([]time.Duration, 0, maxMembers)
	for i := range list {
		spans = append(spans, list[i].span())
	}
	slices.Sort(spans)
	short := spans[(len(spans)-1)/2]
	least := -1
	for i := range list {
		if o := &list[i]; o.span() <= short && (least < 0 || o.Heard.Before(list[least].Heard)) {
			least = i
		}
	}
	return least
}

// span is for how long it was heard; zero for one that spoke once.
func (m *Member) span() time.Duration { return m.Heard.Sub(m.first) }

// expire forgets those that were silent for too long, but looks first whether the process stood still: due is when it had something to do next.
func (t *table) expire(now, due time.Time) {
	t.standstill.notice(now, due)
	t.forget(now)
}

// forget does so within a Step, whose time has been looked at.
func (t *table) forget(now time.Time) {
	if !now.Before(t.standstill.ends()) {
		t.drop(func(m Member) bool { return m.outdated(now) })
	}
}

// clear forgets everybody.
func (t *table) clear() { t.list = nil }

func (t *table) drop(which func(Member) bool) { t.list = slices.DeleteFunc(t.list, which) }

// deadline is when the first will be forgotten; zero when there is nobody.
func (t *table) deadline() time.Time {
	var first time.Time
	for i := range t.list {
		first = sooner(first, t.list[i].expires())
	}
	if first.IsZero() {
		return first
	}
	return later(first, t.standstill.ends())
}

// anyFit tells whether somebody could hold the address.
func (t *table) anyFit() bool {
	return slices.ContainsFunc(t.list, func(m Member) bool { return m.Peer.Fit && m.Peer.State != vrrp.Initialize })
}

// anyProven tells whether somebody was fit before.
func (t *table) anyProven() bool {
	return slices.ContainsFunc(t.list, func(m Member) bool { return m.Peer.Proven })
}

// anyReady tells whether somebody could take the address now; if only is valid, whether that one could.
func (t *table) anyReady(only netip.Addr) bool {
	return slices.ContainsFunc(t.list, func(m Member) bool { return m.ready() && (!only.IsValid() || only == m.Address) })
}

// anyMisses tells whether somebody says that no advertisement of the node of that session arrives.
func (t *table) anyMisses(session uint64) bool {
	return slices.ContainsFunc(t.list, func(m Member) bool { return slices.Contains(m.Peer.Hears, Heard{Session: session, Missing: true}) })
}

// sooner is the earlier of two times, where zero means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
