package subscription

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/base/places"
)

type subscriber struct {
	from    netip.AddrPort
	host    string // that from belongs to
	to      netip.Addr
	session uint64
	key     *auth.Key
	node    string
	since   time.Time // of the session
	lease   time.Duration
	expires time.Time
	due     time.Time
	told    time.Time // zero: not yet
	behind  bool      // it was not told the newest change yet

	connections *uint32   // as it has said last
	counted     time.Time // when it has
	sequence    uint64    // of its newest question: one that somebody repeats says nothing about connections
}

// Subscriber is a follower that is told of a group. It has asked in time since Since. Its JSON form is part of the status.
type Subscriber struct {
	Address netip.Addr `json:"address"` // that it asks from
	Node    string     `json:"node,omitempty"`
	Since   time.Time  `json:"since"`
	// Connections are those that it has to this node, which it says while this node is to get no new ones.
	Connections *uint32 `json:"connections,omitempty"`
	// Counted is when it has said that.
	Counted time.Time `json:"-"`
}

// Subscribers are those of the group, in the order in which they came. Of a host with several sessions it is the one that was renewed last.
func (p *Publisher) Subscribers(now time.Time, group netip.Addr) (out []Subscriber) {
	g := p.find(group)
	if g == nil {
		return nil
	}
	at, newest := map[netip.AddrPort]int{}, map[netip.AddrPort]time.Time{}
	for _, s := range g.subscribers {
		if !now.Before(s.expires) {
			continue
		}
		i, known := at[s.from]
		if !known {
			i = len(out)
			at[s.from], out = i, append(out, Subscriber{Address: s.from.Addr()})
		}
		one := &out[i]
		if !known || !s.expires.Before(newest[s.from]) {
			one.Node, one.Since, newest[s.from] = s.node, s.since, s.expires
		}
		// It does not know of each way to this member that it is one, so each session may say it.
		if s.connections != nil && !s.counted.Before(one.Counted) {
			one.Connections, one.Counted = s.connections, s.counted
		}
	}
	return out
}

// subscribe adds one, or renews its lease; nil: there is no room. Sessions of one host are beside each other: a question that was asked before,
// and that somebody sends once more, must not end what is told now.
func (p *Publisher) subscribe(now time.Time, g *published, m Message, key *auth.Key, in Packet) *subscriber {
	s := p.subscriber(now, g, m.Session, in.From)
	if s != nil {
		s.lease = p.leaseOf()
		s.to, s.key, s.node, s.expires = in.To, key, m.Node, now.Add(s.lease)
		g.next = sooner(g.next, s.expires)
		if m.Sequence > s.sequence {
			s.sequence, s.connections, s.counted = m.Sequence, m.Connections, now
		}
	}
	return s
}

// subscriber is the one of that session. A new one of a port that has many takes the place of that which was renewed longest ago.
func (p *Publisher) subscriber(now time.Time, g *published, session uint64, from netip.AddrPort) *subscriber {
	same := g.at[from]
	if i := slices.IndexFunc(same, func(s *subscriber) bool { return s.session == session }); i >= 0 {
		return same[i]
	}
	if len(same) >= mostSessions {
		s := slices.MinFunc(same, func(a, b *subscriber) int { return a.expires.Compare(b.expires) })
		*s = subscriber{from: from, host: places.Host(from.Addr()), session: session, since: now}
		return s
	}
	if !p.makeRoom(now, g, from.Addr()) {
		return nil
	}
	s := &subscriber{from: from, host: places.Host(from.Addr()), session: session, since: now}
	g.add(s)
	return s
}

// makeRoom tells whether there is a place for one more of that address. Whoever was there longer stays: an address that has as many as it may gets none.
// When all places are taken the host that has more than the newcomer would have loses its newest.
func (p *Publisher) makeRoom(now time.Time, g *published, newcomer netip.Addr) bool {
	if g.of[newcomer] >= mostOfHost || len(g.subscribers) >= p.most {
		g.expire(now)
	}
	switch {
	case g.of[newcomer] >= mostOfHost:
		return false
	case len(g.subscribers) < p.most:
		return true
	}
	host, most := g.heaviest()
	if most <= g.by[places.Host(newcomer)]+1 {
		return false
	}
	for i := len(g.subscribers) - 1; i >= 0; i-- {
		if g.subscribers[i].host == host {
			g.remove(g.subscribers[i])
			g.subscribers = slices.Delete(g.subscribers, i, i+1)
			return true
		}
	}
	return false
}
