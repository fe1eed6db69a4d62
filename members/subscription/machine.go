package subscription

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/members/envelope"
)

const (
	// wantedPeers is how many members a follower has itself told of the others by: so many can die at once but one, and somebody says so.
	wantedPeers = 3
	// mostPeers bounds whom a follower asks.
	mostPeers = 32
	// askAgain is the time until a question is repeated, which doubles up to askSeldom.
	askAgain, askSeldom = 100 * time.Millisecond, 3 * time.Second
	// leastRenewal is the least time until a subscription is renewed, whatever a member says.
	leastRenewal = time.Second
	// answerGap is the least time between two cookies of one member that are shown to it at once.
	answerGap = 50 * time.Millisecond
	// grace is by how much a message may be late.
	grace = 50 * time.Millisecond
	// forgetAfter is for how long somebody is asked who was never heard, and is in no list; and for how long after its last word it counts what
	// somebody has said of the others, while these say something themselves.
	forgetAfter = time.Minute
	// inVain is after how many questions without an answer others come first, and a member is asked at its address of the other family, too.
	inVain = 5
)

// Machine finds members, has them tell it who the members are, and makes one picture of what they say. It is pure, and for one
// goroutine at a time.
type Machine struct {
	group   netip.Addr // the first of the virtual addresses
	node    string     // this host's name
	key     *auth.Key  // nil: none
	random  func() uint64
	peers   []*peer
	refused map[envelope.Reason]uint64
	sent    uint64
	counts  map[netip.Addr]uint32 // see Count
}

// peer is somebody who may be a member.
type peer struct {
	address netip.Addr
	virtual bool
	listed  bool
	met     time.Time // when it was heard of last, or added

	session uint64
	cookie  [cookieLen]byte
	asked   time.Time // the newest SUBSCRIBE
	next    time.Time // of the next one
	tries   int       // unanswered
	owed    bool      // a count that was not said yet: the next SUBSCRIBE is due, whatever comes in before it
	shown   time.Time // when a cookie was shown at once
	last    uint64    // the sequence of the newest MEMBERS

	heard time.Time // the newest MEMBERS; zero: none yet
	list  List
}

// Ask is a SUBSCRIBE that is to be sent.
type Ask struct {
	To   netip.Addr
	Data []byte
}

// NewMachine makes the follower's part of the host named node in a group, which the first of the virtual addresses
// names. key may be nil: none. random need not be repeatable.
func NewMachine(group netip.Addr, node string, key *auth.Key, random func() uint64) *Machine {
	return &Machine{group: group, node: node, key: key, random: random, refused: map[envelope.Reason]uint64{}}
}

// Know says whom Expire is to ask. listed are the own addresses of members, as configured. They are never forgotten.
// virtual are the virtual addresses: their holders are members. They are asked while no member is known that answers.
func (m *Machine) Know(listed, virtual []netip.Addr) {
	for _, a := range listed {
		if p := m.meet(time.Time{}, a); p != nil {
			p.listed = true
		}
	}
	for _, a := range virtual {
		if p := m.meet(time.Time{}, a); p != nil {
			p.virtual = true
		}
	}
}

// Hint says that somebody may be a member. It is only asked.
func (m *Machine) Hint(now time.Time, a netip.Addr) { m.meet(now, a) }

// meet is the peer of that address, nil where there is no room for one more, or the address is link-local: it does not say on which link.
func (m *Machine) meet(now time.Time, a netip.Addr) *peer {
	a = a.WithZone("")
	if i := slices.IndexFunc(m.peers, func(p *peer) bool { return p.address == a }); i >= 0 {
		if now.After(m.peers[i].met) {
			m.peers[i].met = now
		}
		return m.peers[i]
	}
	if !envelope.Host(a) || a.Is6() && a.IsLinkLocalUnicast() || len(m.peers) >= mostPeers {
		return nil
	}
	p := &peer{address: a, met: now, session: m.random()}
	m.peers = append(m.peers, p)
	return p
}

// Count takes in how many connections this host has to the members that are to get no new ones, by their own addresses
// in the Picture. Those members are told, immediately when it has changed: an operator may wait for the end of these
// connections. A member that is asked no more is told as long as this host is among its subscribers: it waits for
// their word.
func (m *Machine) Count(now time.Time, counts map[netip.Addr]uint32) {
	before := m.counts
	m.counts = counts
	for _, p := range m.peers {
		n, counted := counts[p.member()]
		if was, known := before[p.member()]; counted && (!known || n != was) && p.subscribed(now) {
			p.next, p.owed = now, true
		}
	}
}

// subscribed tells whether the member may have this host among its subscribers.
func (p *peer) subscribed(now time.Time) bool {
	return p.cookie != [cookieLen]byte{} && now.Sub(p.asked) < max(p.list.Lease, lease)
}

// member is the own address of the one that answers there.
func (p *peer) member() netip.Addr {
	for _, o := range p.list.Members {
		if o.Self {
			return o.Address
		}
	}
	return p.address
}

// Refused counts what was refused, by reason. It is the Machine's.
func (m *Machine) Refused() map[envelope.Reason]uint64 { return m.refused }

// Hear takes in what somebody has sent, and returns what is to be answered at once.
func (m *Machine) Hear(now time.Time, b []byte) []Ask {
	var keys []auth.Key
	if m.key != nil {
		keys = []auth.Key{*m.key}
	}
	in, by, err := Parse(b, keys)
	reason := envelope.Reason("")
	switch {
	case err != nil:
		reason = reasonOf(err)
	case m.key != nil && by == nil:
		reason = envelope.RejectUnsigned
	case in.Type == Subscribe:
		reason = envelope.RejectType
	case in.Group != m.group:
		reason = envelope.RejectGroup
	}
	if reason != "" {
		m.refused[reason]++
		return nil
	}
	i := slices.IndexFunc(m.peers, func(p *peer) bool { return p.session == in.Session })
	if i < 0 {
		m.refused[envelope.RejectSession]++
		return nil
	}
	p := m.peers[i]
	if in.Type == Cookie {
		return m.showCookie(now, p, in)
	}
	if in.Sequence <= p.last {
		m.refused[envelope.RejectReplay]++
		return nil
	}
	p.last, p.heard, p.list, p.tries, p.met = in.Sequence, now, in.List, 0, now
	for _, o := range in.List.Members {
		if at := m.meet(now, o.Address); at != nil && at.tries >= inVain && o.Other.IsValid() {
			m.meet(now, o.Other)
		}
	}
	if !p.owed {
		p.next = p.asked.Add(max(in.List.Lease/3, leastRenewal))
	}
	return nil
}

// showCookie subscribes, now that the member has let this host know what it has to say.
func (m *Machine) showCookie(now time.Time, p *peer, in Message) []Ask {
	if p.cookie == in.Cookie || now.Sub(p.shown) < answerGap {
		return nil
	}
	p.cookie, p.shown, p.tries = in.Cookie, now, 0
	return m.ask(now, p)
}

// ask makes a SUBSCRIBE, and sets when the next one is due.
func (m *Machine) ask(now time.Time, p *peer) []Ask {
	m.sent++
	question := Message{Type: Subscribe, Session: p.session, Sequence: m.sent, Group: m.group, Cookie: p.cookie, Node: NodeName(m.node)}
	if n, counted := m.counts[p.member()]; counted {
		question.Connections = &n
	}
	b, err := question.Append(nil, m.key)
	if err != nil {
		return nil
	}
	p.owed = false
	p.asked, p.next = now, now.Add(min(askAgain<<min(p.tries, 10), askSeldom))
	p.tries++
	return []Ask{{To: p.address, Data: b}}
}

// silence is for how long nothing may be heard of a member that tells this host of the others.
func (p *peer) silence() time.Duration { return p.list.Every*7/2 + grace }

// tells reports whether a member tells this host of the others.
func (p *peer) tells(now time.Time) bool { return !p.heard.IsZero() && now.Sub(p.heard) < p.silence() }

// telling are the members that do.
func (m *Machine) telling(now time.Time) (out []*peer) {
	for _, p := range m.peers {
		if p.tells(now) {
			out = append(out, p)
		}
	}
	return out
}

// direct are those that do, without the virtual addresses: these only where nobody does by an address of its own, as where a firewall lets nothing
// pass but what is for them.
func (m *Machine) direct(now time.Time) []*peer {
	all := m.telling(now)
	own := slices.DeleteFunc(slices.Clone(all), func(p *peer) bool { return p.virtual })
	if len(own) == 0 {
		return all
	}
	return own
}

// wanted are those that this host asks: those that it wants to be told by, and those that are told how many connections they still have, or that there
// is none any more.
func (m *Machine) wanted(now time.Time) []*peer {
	out := slices.Clone(m.informants(now))
	for _, p := range m.peers {
		if (p.owed || m.counts[p.member()] > 0) && !p.virtual && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// informants are those that this host wants to be told by: those that tell, and as many others as are missing. Those come first that were asked
// seldom in vain, and among these each host has an order of its own, so that no member has all followers.
func (m *Machine) informants(now time.Time) []*peer {
	telling := m.direct(now)
	if len(telling) == 0 {
		return m.peers
	}
	missing := wantedPeers - len(telling)
	if missing <= 0 {
		return telling[:wantedPeers]
	}
	var others []*peer
	for _, p := range m.peers {
		if !p.virtual && !p.tells(now) {
			others = append(others, p)
		}
	}
	slices.SortFunc(others, func(a, b *peer) int {
		tries := cmp.Compare(min(a.tries, inVain), min(b.tries, inVain))
		if tries == 0 && a.tries >= inVain {
			return a.asked.Compare(b.asked) // in turn: one of them may be back
		}
		return cmp.Or(tries, cmp.Compare(m.rank(a), m.rank(b)))
	})
	return append(telling, others[:min(missing, len(others))]...)
}

func (m *Machine) rank(p *peer) uint32 {
	h := fnv.New32a()
	h.Write([]byte(m.node))
	h.Write(p.address.AsSlice()) // a hash never returns an error
	return h.Sum32()
}

// Expire does what is due: asks, and forgets those of whom nothing is heard.
func (m *Machine) Expire(now time.Time) (out []Ask) {
	m.peers = slices.DeleteFunc(m.peers, func(p *peer) bool {
		return !p.listed && !p.virtual && len(m.peers) > 1 && !p.met.IsZero() && now.Sub(p.met) > forgetAfter
	})
	told := len(m.telling(now)) > 0
	for _, p := range m.peers {
		if told && !p.heard.IsZero() && now.Sub(p.heard) > forgetAfter {
			p.heard, p.list = time.Time{}, List{}
		}
	}
	for _, p := range m.wanted(now) {
		if p.last > 0 && !p.tells(now) { // it fell silent: begin anew
			p.session, p.cookie, p.last, p.tries = m.random(), [cookieLen]byte{}, 0, 0
			p.next = now
		}
		if p.next.IsZero() || !now.Before(p.next) {
			out = append(out, m.ask(now, p)...)
		}
	}
	return out
}

// Deadline is when Expire has something to do, or when the picture may have become another one by itself.
func (m *Machine) Deadline(now time.Time) (next time.Time) {
	for _, p := range m.wanted(now) {
		if p.next.IsZero() {
			return now
		}
		next = sooner(next, p.next)
	}
	for _, p := range m.peers {
		if p.heard.IsZero() {
			continue
		}
		for _, at := range append(p.moments(), p.heard.Add(p.silence())) {
			if at.After(now) {
				next = sooner(next, at)
			}
		}
	}
	return next
}

// Known are the own addresses of members, for the next run to ask.
func (m *Machine) Known() (out []netip.Addr) {
	for _, p := range m.peers {
		for _, o := range p.list.Members {
			if !slices.Contains(out, o.Address) {
				out = append(out, o.Address)
			}
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

// By are those that tell this host of the others, by the addresses at which they are asked.
func (m *Machine) By(now time.Time) (out []netip.Addr) {
	for _, p := range m.direct(now) {
		out = append(out, p.address)
	}
	return out
}

// Asked tells whether a message may be an answer to what this machine has asked. It says nothing about whether it is genuine.
func (m *Machine) Asked(b []byte) bool {
	if len(b) < envelope.HeaderLen {
		return false
	}
	session := binary.BigEndian.Uint64(b[8:])
	return slices.ContainsFunc(m.peers, func(p *peer) bool { return p.session == session })
}
