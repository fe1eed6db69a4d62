package members

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// A member that claims the address is heard in two ways: by its advertisements, and by its messages. Where only its
// messages arrive (protocol 112 is filtered, or the Virtual Routers have different numbers) they do what advertisements
// would: a Backup does not take over, and of two that hold the address one yields.
//
// All of this costs nothing while advertisements arrive. A node that misses two of them says so in its next HELLO, at once;
// a claimant that is alive answers, and from then on sends a HELLO with each of its advertisements. One that is dead says
// nothing, and what it said before its last advertisement counts for nothing.

// deafAfter is how long a member that was told of this node may go on saying that it does not hear it.
const deafAfter = 60 * time.Millisecond

// splitAfter is how long a member claims without an advertisement before that is said to an operator.
const splitAfter = 500 * time.Millisecond

// lastAdverts are when the advertisements of each sender were heard last.
type lastAdverts struct{ list []lastAdvert }

type lastAdvert struct {
	source netip.Addr
	at     time.Time
}

// hear notes an advertisement. With the list full, the one that is oldest makes room, but none of a member: whoever invents
// routers would make the advertisements of the holder seem to be missing.
func (e *lastAdverts) hear(source netip.Addr, at time.Time, member func(netip.Addr) bool) {
	i := slices.IndexFunc(e.list, func(o lastAdvert) bool { return o.source == source })
	switch {
	case i >= 0:
		e.list[i].at = later(e.list[i].at, at)
	case len(e.list) < maxMembers:
		e.list = append(e.list, lastAdvert{source, at})
	default:
		if i := e.oldestBut(member); i >= 0 {
			e.list[i] = lastAdvert{source, at}
		}
	}
}

// oldestBut is the index of the oldest that is not of a member, -1 if there is none.
func (e *lastAdverts) oldestBut(member func(netip.Addr) bool) int {
	oldest := -1
	for i, o := range e.list {
		if (oldest < 0 || o.at.Before(e.list[oldest].at)) && !member(o.source) {
			oldest = i
		}
	}
	return oldest
}

// last is zero if there was none.
func (e *lastAdverts) last(source netip.Addr) time.Time {
	for _, o := range e.list {
		if o.source == source {
			return o.at
		}
	}
	return time.Time{}
}

// Hear notes that an advertisement of source came in at that time.
func (m *Machine) Hear(source netip.Addr, at time.Time) {
	m.lastAdverts.hear(source.WithZone(""), at, func(a netip.Addr) bool { return m.table.find(a) != nil })
}

// Unheard tells whether what the member said at that time came where an advertisement of it should have come before.
func (m *Machine) Unheard(source netip.Addr, at time.Time) bool {
	o := m.table.find(source.WithZone(""))
	return o != nil && o.claiming() && at.Sub(m.lastAdverts.last(o.Address)) > o.Peer.Router.Interval*3/2
}

func (m *Member) claiming() bool { return m.Peer.Claims && m.Peer.Router.Interval > 0 }

// holder is the Active that ranks highest: by priority, then by address (RFC 9568, section 6.4.3). One that claims the address and of
// which nothing is heard any more, as one that was killed, comes after all others.
func (m *Machine) holder(now time.Time) *Member {
	var best *Member
	var silent bool // best
	for i := range m.table.list {
		o := &m.table.list[i]
		if o.Peer.State != vrrp.Active {
			continue
		}
		heard := later(o.Heard, m.lastAdverts.last(o.Address))
		quiet := o.claiming() && now.Sub(heard) > time.Duration(m.cfg.Adverts+1)*o.Peer.Router.Interval
		if best == nil || silent && !quiet || silent == quiet && o.Peer.Priority >= best.Peer.Priority {
			best, silent = o, quiet
		}
	}
	return best
}

// heardClaim keeps what a message says about holding the address, and passes it on to the election if it is news.
func (m *Machine) heardClaim(now time.Time, r Received) {
	o := m.table.find(r.Source)
	if o == nil {
		return
	}
	at := r.arrived(now)
	i := slices.IndexFunc(o.Peer.Hears, func(h Heard) bool { return h.Session == m.cfg.Session })
	since(&o.unlisted, at, i < 0)
	since(&o.claims, at, o.claiming())
	unheard := m.Unheard(o.Address, at)
	since(&o.unheard, at, unheard)
	if m.self.Claims && (i >= 0 && o.Peer.Hears[i].Missing || unheard) {
		m.hello.answer(now)
	}
	if unheard {
		c := Claim{From: o.Address, Priority: o.Peer.Priority, Interval: o.Peer.Router.Interval, At: at, Deaf: m.deaf(o, at)}
		if c.Deaf {
			c.Lasts = m.lasts(o)
		}
		m.act(c)
	}
}

// reassert lets one know that this node holds the address whose messages are refused, or who advertises, too: it may believe what it
// hears.
func (m *Machine) reassert(now time.Time) {
	if m.self.Claims {
		m.hello.answer(now)
	}
}

func (m *Machine) deaf(o *Member, at time.Time) bool {
	return !o.unlisted.IsZero() && at.Sub(o.unlisted) >= deafAfter
}

// accompany says with an advertisement what it says, if somebody does not hear the advertisements of this node.
func (m *Machine) accompany(now time.Time) {
	needed := slices.ContainsFunc(m.table.list, func(o Member) bool {
		return slices.Contains(o.Peer.Hears, Heard{Session: m.cfg.Session, Missing: true})
	})
	if needed && m.self.Claims && now.After(m.hello.last) {
		m.hello.due = now
		m.sayHello(now)
	}
}

// missedAt is from when on the advertisements of a claimant count as missing.
func (m *Machine) missedAt(o *Member) time.Time {
	return later(o.claims, m.lastAdverts.last(o.Address)).Add(o.Peer.Router.Interval * 5 / 2)
}

// hears is what the others are told about themselves. As there is not room for all in a message, the claimants come first, and of them
// those that were heard for longest: one that is left out takes this node for deaf.
func (m *Machine) hears() []Heard {
	var order []*Member
	for i := range m.table.list {
		order = append(order, &m.table.list[i])
	}
	slices.SortStableFunc(order, func(a, b *Member) int {
		switch {
		case a.claiming() == b.claiming():
			return cmp.Compare(b.span(), a.span())
		case a.claiming():
			return -1
		}
		return 1
	})
	var list []Heard
	for _, o := range order[:min(len(order), maxHears)] {
		list = append(list, Heard{Session: o.Session, Missing: slices.Contains(m.asked, o.Address)})
	}
	return list
}

// askClaimants tells claimants whose advertisements do not arrive, once.
func (m *Machine) askClaimants(now time.Time) {
	var missing []netip.Addr
	for i := range m.table.list {
		if o := &m.table.list[i]; o.claiming() && !now.Before(m.missedAt(o)) {
			missing = append(missing, o.Address)
		}
	}
	if !slices.Equal(missing, m.asked) {
		m.asked = missing
		m.hello.missing(now)
	}
}

// claimEnds is until when a claim counts: as long as an advertisement would, or for as long as one lives that cannot know that
// its advertisements are missing.
func (m *Machine) claimEnds(o *Member) time.Time {
	if m.deaf(o, o.Heard) {
		return o.Heard.Add(m.lasts(o))
	}
	return o.Heard.Add(min(time.Duration(m.cfg.Adverts+1)*o.Peer.Router.Interval, m.longest(o)))
}

// lasts is for how long the claim of one that is deaf counts: while its message lives, but no longer than longest.
func (m *Machine) lasts(o *Member) time.Duration { return min(o.Peer.Lifetime, m.longest(o)) }

// longest is for how long a claim counts at most, whatever it says itself: two forged messages could state a minute. That is as long as a
// message or an advertisement of this node would count. A member that holds a key is believed: it may have more groups, and speak more seldom.
func (m *Machine) longest(o *Member) time.Duration {
	every := m.cfg.Every
	if o.signed {
		every = LongestEvery
	}
	return max(lifetime(every), time.Duration(m.cfg.Adverts+1)*m.self.Router.Interval)
}

// claimant tells whether o claims the address now, and none of its advertisements arrives.
func (m *Machine) claimant(now time.Time, o *Member) bool {
	return o.claiming() && !o.unheard.IsZero() && now.Before(m.claimEnds(o)) && m.lastAdverts.last(o.Address).Before(o.unheard)
}

// Claimant is a member that claims the address and of which no advertisement arrives.
type Claimant struct {
	Member
	Since time.Time
	Deaf  bool // it does not hear this node either
	Split bool // it has lasted for so long that an operator has to know
}

// Claimants lists them, the one that ranks highest first.
func (m *Machine) Claimants(now time.Time) []Claimant {
	var list []Claimant
	for i := range m.table.list {
		o := &m.table.list[i]
		if m.claimant(now, o) {
			list = append(list, Claimant{
				Member: *o, Since: o.unheard, Deaf: m.deaf(o, o.Heard), Split: !now.Before(m.splitAt(o)),
			})
		}
	}
	slices.SortFunc(list, func(a, b Claimant) int {
		if outranks(a.Peer.Priority, a.Address, b.Peer.Priority, b.Address) {
			return -1
		}
		return 1
	})
	return list
}

func (m *Machine) splitAt(o *Member) time.Time {
	return later(m.missedAt(o), o.unheard.Add(splitAfter))
}

// claimsDeadline is when askClaimants has something to do, or Claimants changes.
func (m *Machine) claimsDeadline() (next time.Time) {
	for i := range m.table.list {
		o := &m.table.list[i]
		if !o.claiming() {
			continue
		}
		if !slices.Contains(m.asked, o.Address) {
			next = sooner(next, m.missedAt(o))
		}
		if o.unheard.IsZero() || m.lastAdverts.last(o.Address).After(o.unheard) {
			continue
		}
		for _, at := range []time.Time{m.splitAt(o), m.claimEnds(o)} {
			if at.After(m.stepped) {
				next = sooner(next, at)
			}
		}
	}
	return next
}
