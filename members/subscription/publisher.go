package subscription

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/members/envelope"
)

const (
	// lease is for how long a subscription lasts that is not renewed, and leaseEach, up to mostLease, by how many subscribers it is longer: a
	// member is asked 250 times a second, however many ask.
	lease, leaseEach, mostLease = 6 * time.Second, 12 * time.Millisecond, 2 * time.Minute
	// leastSubscribers and mostSubscribers bound what follows from the memory of this host: what a member tells, and remembers, of each group.
	leastSubscribers, mostSubscribers = 2048, 16384
	// mostSessions is how many of these one host may have: one for each way to this member, and those that it has begun anew.
	mostSessions = 4
	// mostOfHost is how many one address may have, by whatever ports: a few followers may be behind one translator of addresses.
	mostOfHost = 16
	// share is the least time between two regular messages to all subscribers together: with many, each is told less often. A change is told at
	// once, whatever their number.
	share = time.Millisecond
	// leastEvery is the least time between two regular messages to one subscriber.
	leastEvery = 100 * time.Millisecond
	// changeGap is the least time between two messages because of changes.
	changeGap = 5 * time.Millisecond
	// burst is how many messages are made at a time. Whoever sends them lets others have their turn between two.
	burst = 512
	// many is from how many subscribers on those that are due are looked for once in a pause. A follower waits longer for what is late (grace).
	many, pause = 128, 20 * time.Millisecond
	// secretAge is how long a cookie can be shown, and half of how long it counts.
	secretAge = time.Minute
)

// Keys are what a member demands of those who ask.
type Keys struct {
	Keys []auth.Key // all are accepted; the answer is signed with the one that was used
	// Open lets those in that use no key, if no router is between, and from a port that takes a privilege.
	Open bool
}

// Packet is a message that came in.
type Packet struct {
	Data []byte
	From netip.AddrPort
	To   netip.Addr // own address that it was sent to, with the zone where it needs one
	TTL  int        // or hop limit
}

// Outgoing is a message to be sent.
type Outgoing struct {
	Data []byte
	To   netip.AddrPort
	From netip.Addr // own address to send it from
}

// Publisher tells subscribers of this member's groups who the members are. It is pure, and for one goroutine at a time.
type Publisher struct {
	keys    Keys
	cookies cookies
	groups  []*published
	refused map[envelope.Reason]uint64
	sent    uint64 // the sequence of the newest message
	most    int    // subscribers of each group
}

// Report is what this member knows of all of them.
type Report struct {
	Every time.Duration // the time between two words of a member
	// Members are all of them, with this node. Each Age is as of the call of Tell: the Publisher adds the time since then.
	Members []Member
}

// NewPublisher makes one that nobody has subscribed to. random need not be repeatable.
func NewPublisher(random func() uint64) *Publisher {
	return &Publisher{cookies: cookies{random: random}, refused: map[envelope.Reason]uint64{}, most: leastSubscribers}
}

// SetKeys changes what is demanded. Who uses a key that is gone is told nothing more.
func (p *Publisher) SetKeys(k Keys) {
	p.keys = k
	for _, g := range p.groups {
		g.drop(func(s *subscriber) bool {
			if s.key == nil {
				return !k.Open
			}
			return !slices.ContainsFunc(k.Keys, func(o auth.Key) bool { return o.ID == s.key.ID })
		})
	}
}

// Serve begins to publish a group.
func (p *Publisher) Serve(group netip.Addr) {
	if p.find(group) == nil {
		p.groups = append(p.groups, newPublished(group))
	}
}

// Drop ends that. Its subscribers are not told: they hear of it from others, or notice the silence.
func (p *Publisher) Drop(group netip.Addr) {
	p.groups = slices.DeleteFunc(p.groups, func(g *published) bool { return g.group == group })
}

func (p *Publisher) find(group netip.Addr) *published {
	i := slices.IndexFunc(p.groups, func(g *published) bool { return g.group == group })
	if i < 0 {
		return nil
	}
	return p.groups[i]
}

// Room is how many subscribers the group has, and how many it may have.
func (p *Publisher) Room(group netip.Addr) (taken, most int) {
	if g := p.find(group); g != nil {
		taken = len(g.subscribers)
	}
	return taken, p.most
}

// Wanted tells whether anybody has subscribed to the group.
func (p *Publisher) Wanted(group netip.Addr) bool {
	g := p.find(group)
	return g != nil && len(g.subscribers) > 0
}

// Refused counts what was refused, by reason. It is the Publisher's.
func (p *Publisher) Refused() map[envelope.Reason]uint64 { return p.refused }

// Hear answers what came in. The answer is never longer than that, but for one that has shown that answers reach it.
func (p *Publisher) Hear(now time.Time, in Packet) []Outgoing {
	out, reason := p.hear(now, in)
	if reason != "" {
		p.refused[reason]++
	}
	return out
}

func (p *Publisher) hear(now time.Time, in Packet) ([]Outgoing, envelope.Reason) {
	h, end, err := open(in.Data)
	if err != nil {
		return nil, reasonOf(err)
	}
	if Type(h.Type) != Subscribe {
		return nil, envelope.RejectType
	}
	if r := p.admit(in, len(in.Data) > end); r != "" {
		return nil, r
	}
	m, key, err := Parse(in.Data, p.keys.Keys)
	if err != nil {
		return nil, reasonOf(err)
	}
	g := p.find(m.Group)
	if g == nil {
		return nil, envelope.RejectGroup
	}
	p.cookies.renew(now)
	if !p.cookies.knows(m, in.From) {
		answer := Message{Type: Cookie, Session: m.Session, Sequence: m.Sequence, Group: m.Group, Cookie: p.cookies.bake(0, m, in.From)}
		return p.one(answer, key, in.From, in.To), ""
	}
	s := p.subscribe(now, g, m, key, in)
	if s == nil {
		return nil, envelope.RejectFull
	}
	if g.report == nil {
		return nil, ""
	}
	if next := s.told.Add(answerGap); now.Before(next) { // an answer is longer than the question
		s.due = sooner(s.due, next)
		g.next = sooner(g.next, s.due)
		return nil, ""
	}
	return p.tell(now, g, p.lines(now, g), s), ""
}

// admit looks at how a message came that is not signed, before the message itself is looked into.
func (p *Publisher) admit(in Packet, signed bool) envelope.Reason {
	switch {
	case signed:
		return ""
	case !p.keys.Open:
		return envelope.RejectUnsigned
	case in.TTL != envelope.HopLimit:
		return envelope.RejectTTL
	case in.From.Port() != envelope.SourcePort:
		return envelope.RejectPort
	}
	return ""
}

func reasonOf(err error) envelope.Reason {
	if e, ok := err.(*envelope.PacketError); ok {
		return e.Reason
	}
	return envelope.RejectField
}

// total is how many subscribers all groups have.
func (p *Publisher) total() (n int) {
	for _, g := range p.groups {
		n += len(g.subscribers)
	}
	return n
}

// every is the time between two regular messages to one subscriber.
func (p *Publisher) every(g *published) time.Duration {
	return min(max(g.report.Every, leastEvery, time.Duration(p.total())*share), Never)
}

// leaseOf is the lease of who asks now.
func (p *Publisher) leaseOf() time.Duration {
	return max(lease, min(time.Duration(p.total())*leaseEach, mostLease))
}

// Tell takes in what this member knows now; nil: nothing, and subscribers are told nothing more. They are told of a
// change immediately, so many in a burst; Expire has the others. Tell is called once in an interval, and may be left
// out while nobody is Wanted.
func (p *Publisher) Tell(now time.Time, group netip.Addr, r *Report) []Outgoing {
	g := p.find(group)
	if g == nil {
		return nil
	}
	before := g.report
	g.report, g.told = r, now
	if r == nil || len(g.subscribers) == 0 {
		g.report = nil
		return nil
	}
	same := before != nil && slices.EqualFunc(before.Members, r.Members, func(a, b Member) bool { return a.alike(b) })
	if !same {
		g.pending = true
	}
	return p.flush(now, g)
}

// flush tells subscribers of a change, if there is one and the last one is long enough ago, and those that one burst had no room for.
func (p *Publisher) flush(now time.Time, g *published) (out []Outgoing) {
	if g.report == nil {
		return nil
	}
	if g.pending && now.Sub(g.changed) >= changeGap {
		g.pending, g.changed, g.behind = false, now, 0
		for _, s := range g.subscribers {
			s.behind = true
		}
	}
	if !g.isBehind() {
		return nil
	}
	lines, every, n := p.lines(now, g), p.every(g), time.Duration(len(g.subscribers))
	for ; g.behind < len(g.subscribers) && len(out) < burst; g.behind++ {
		if s := g.subscribers[g.behind]; s.behind {
			out = append(out, p.tell(now, g, lines, s)...)
			s.due = now.Add(every/2 + every/2*time.Duration(g.behind+1)/n) // and not all at one moment again
			g.next = sooner(g.next, s.due)
		}
	}
	return out
}

// lines are what is said of the members, to all subscribers the same.
func (p *Publisher) lines(now time.Time, g *published) (out List) {
	out.Every = p.every(g)
	for _, line := range g.report.Members[:min(len(g.report.Members), mostMembers)] {
		line.Age, line.Lifetime = min(max(line.Age+now.Sub(g.told), 0), Never), min(line.Lifetime, Never)
		out.Members = append(out.Members, line)
	}
	return out
}

// tell is the list as one subscriber gets it.
func (p *Publisher) tell(now time.Time, g *published, list List, s *subscriber) []Outgoing {
	s.due, s.told, s.behind = now.Add(list.Every), now, false
	g.next = sooner(g.next, s.due)
	p.sent = max(p.sent+1, uint64(max(now.UnixNano(), 0)))
	list.Lease = s.lease
	return p.one(Message{Type: Members, Session: s.session, Sequence: p.sent, Group: g.group, List: list}, s.key, s.from, s.to)
}

// one is a message; none where the wire cannot carry it.
func (p *Publisher) one(m Message, key *auth.Key, to netip.AddrPort, from netip.Addr) []Outgoing {
	b, err := m.Append(nil, key)
	if err != nil {
		return nil
	}
	return []Outgoing{{Data: b, To: to, From: from}}
}

// Deadline is when Expire has something to do; the zero Time: never.
func (p *Publisher) Deadline() (next time.Time) {
	for _, g := range p.groups {
		if g.isBehind() {
			return g.changed
		}
		if g.pending && g.report != nil {
			next = sooner(next, g.changed.Add(changeGap))
		}
		due := g.next
		if soonest := g.looked.Add(pause); len(g.subscribers) > many && !due.IsZero() && due.Before(soonest) {
			due = soonest
		}
		next = sooner(next, due)
	}
	return next
}

// Expire does what is due, so much of it as one burst has room for: then the Deadline is over at once.
func (p *Publisher) Expire(now time.Time) (out []Outgoing) {
	for _, g := range p.groups {
		if len(out) < burst {
			out = append(out, p.flush(now, g)...)
		}
		if !g.next.IsZero() && !now.Before(g.next) {
			out = append(out, p.renew(now, g, burst-len(out))...)
		}
	}
	return out
}

// renew tells those that are due, so many at most, forgets those whose leases are over, and notes when the next one is due. It goes through
// thousands up to 50 times a second.
func (p *Publisher) renew(now time.Time, g *published, most int) (out []Outgoing) {
	var list List
	var next time.Time
	over, looked := false, now
	for _, s := range g.subscribers {
		if !now.Before(s.expires) {
			over = true
			continue
		}
		next = sooner(next, s.expires)
		if g.report == nil {
			continue
		}
		switch {
		case now.Before(s.due):
		case len(out) >= most:
			looked = time.Time{} // and the rest at once
		default:
			if list.Every == 0 {
				list = p.lines(now, g)
			}
			out = append(out, p.tell(now, g, list, s)...)
		}
		next = sooner(next, s.due)
	}
	g.next, g.looked = next, looked
	if over {
		g.expire(now)
	}
	return out
}

// sooner is the earlier of two times, where zero means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
