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

	claims   time.Time // since when it claims the address; zero: it does not
	unlisted time.Time // since when it says that it does not hear this node; zero: it does
	unheard  time.Time // since when it claims and no advertisement of it arrives, as far as is known
}

// expires is when the member is forgotten if nothing more is heard.
func (m *Member) expires() time.Time { return m.Heard.Add(m.Peer.Lifetime) }

// gives tells that the member holds the address and wants to give it away.
func (m *Member) gives() bool { return m.Peer.State == vrrp.Active && !m.Peer.Fit }

// table is who was heard, by address.
type table struct {
	list []Member
}

func (t *table) find(a netip.Addr) *Member {
	i := slices.IndexFunc(t.list, func(m Member) bool { return m.Address == a })
	if i < 0 {
		return nil
	}
	return &t.list[i]
}

// hear notes what a node says. With the table full, the one that was silent longest makes room.
func (t *table) hear(now time.Time, source netip.Addr, m Message) {
	var known Member
	if o := t.find(source); o != nil && o.Session == m.Session {
		known = *o
	}
	t.drop(func(o Member) bool { return o.Address == source })
	if m.Peer.Lifetime <= 0 {
		return
	}
	if len(t.list) == maxMembers {
		oldest := slices.MinFunc(t.list, func(a, b Member) int { return a.Heard.Compare(b.Heard) })
		t.drop(func(o Member) bool { return o.Address == oldest.Address })
	}
	t.list = append(t.list, Member{
		Address: source, Session: m.Session, Peer: m.Peer, Heard: now,
		claims: known.claims, unlisted: known.unlisted, unheard: known.unheard,
	})
	slices.SortFunc(t.list, func(a, b Member) int { return a.Address.Compare(b.Address) })
}

// expire forgets those that were silent for too long.
func (t *table) expire(now time.Time) {
	t.drop(func(m Member) bool { return !now.Before(m.expires()) })
}

func (t *table) drop(which func(Member) bool) { t.list = slices.DeleteFunc(t.list, which) }

// next is when the first will be forgotten; zero when there is nobody.
func (t *table) next() (first time.Time) {
	for i := range t.list {
		first = sooner(first, t.list[i].expires())
	}
	return first
}

// anyFit tells whether somebody could hold the address.
func (t *table) anyFit() bool {
	return slices.ContainsFunc(t.list, func(m Member) bool { return m.Peer.Fit && m.Peer.State != vrrp.Initialize })
}

// anyProven tells whether somebody was fit before.
func (t *table) anyProven() bool {
	return slices.ContainsFunc(t.list, func(m Member) bool { return m.Peer.Proven })
}

// sooner is the earlier of two times, where zero means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
