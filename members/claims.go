package members

import (
	"cmp"
	"math"
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

// claimants tells which of the members claim the address, by what they say and by when their advertisements were heard. What it notes of a
// member is in the Member, and is forgotten with it. What it returns, the Machine does.
type claimants struct {
	lastAdverts
	began   time.Time    // since when advertisements are listened to, or the newest standstill; words of members from before may arrive after
	missing []netip.Addr // the claimants that are told that their advertisements do not arrive
}

// bounds are for how long what this node hears of a claimant counts.
type bounds struct {
	adverts  int           // how many advertisements may be missed
	every    time.Duration // between two HELLOs of this node that nothing else calls for
	interval time.Duration // between two of its advertisements
}

// advert is for how long an advertisement counts when there is one in each interval.
func (b bounds) advert(interval time.Duration) time.Duration {
	return time.Duration(b.adverts+1) * interval
}

// claimEnds is until when a claim counts: as long as an advertisement would, or for as long as one lives that cannot know that
// its advertisements are missing.
func (b bounds) claimEnds(o *Member) time.Time {
	if o.deaf(o.Heard) {
		return o.Heard.Add(b.lasts(o))
	}
	return o.Heard.Add(min(b.advert(o.Peer.Router.Interval), b.longest(o)))
}

// lasts is for how long the claim of one that is deaf counts: while its message lives, but no longer than longest.
func (b bounds) lasts(o *Member) time.Duration { return min(o.Peer.Lifetime, b.longest(o)) }

// longest is for how long a claim counts at most, whatever it says itself: two forged messages could state a minute. That is as long as a
// message or an advertisement of this node would count. A member that holds a key is believed: it may have more groups, and speak more seldom.
func (b bounds) longest(o *Member) time.Duration {
	every := b.every
	if o.signed {
		every = longestEvery
	}
	return max(lifetime(every), b.advert(b.interval))
}

func (m *Member) claiming() bool { return m.Peer.Claims && m.Peer.Router.Interval > 0 }

// deaf tells that at that time the member did not hear this node, though it had time to.
func (m *Member) deaf(at time.Time) bool {
	return !m.unlisted.IsZero() && at.Sub(m.unlisted) >= deafAfter
}

// advertised is the priority that the advertisements of an Active have which says this of itself.
func (f *PeerState) advertised() uint8 {
	if f.HearsNobody && f.Priority != math.MaxUint8 { // the address owner says so in any case (RFC 9568 section 6.4.1)
		return 1
	}
	return f.Priority
}

// says is what the member says of the node of that session; false: it does not hear it.
func (m *Member) says(session uint64) (h Heard, hears bool) {
	i := slices.IndexFunc(m.Peer.Hears, func(h Heard) bool { return h.Session == session })
	if i < 0 {
		return h, false
	}
	return m.Peer.Hears[i], true
}

// holder is the Active that ranks highest: by priority, then by address (RFC 9568, section 6.4.3). One that claims the address and of
// which nothing is heard any more, as one that was killed, comes after all others.
func (c *claimants) holder(now time.Time, others []Member, b bounds) *Member {
	var best *Member
	var silent bool // best
	for i := range others {
		o := &others[i]
		if o.Peer.State != vrrp.Active {
			continue
		}
		heard := later(o.Heard, c.last(o.Address))
		quiet := o.claiming() && now.Sub(heard) > b.advert(o.Peer.Router.Interval)
		if best == nil || silent && !quiet || silent == quiet && o.Peer.Priority >= best.Peer.Priority {
			best, silent = o, quiet
		}
	}
	return best
}

// unheard tells whether what the member said at that time came where an advertisement of it should have come before.
func (c *claimants) unheard(o *Member, at time.Time) bool {
	return o.claiming() && at.Sub(c.last(o.Address)) > o.Peer.Router.Interval*3/2
}

// heardClaim keeps what a message that came in at that time says about holding the address, and returns a Claim if it is news for the election,
// else nil. hears: the member says that it hears this node.
func (c *claimants) heardClaim(o *Member, at time.Time, hears bool, b bounds) Action {
	since(&o.unlisted, at, !hears)
	since(&o.claims, at, o.claiming())
	since(&o.nobody, at, o.Peer.HearsNobody)
	unheard := c.unheard(o, at)
	since(&o.unheard, at, unheard)
	if !unheard {
		return nil
	}
	claim := Claim{From: o.Address, Priority: o.Peer.advertised(), Interval: o.Peer.Router.Interval, At: at, Deaf: o.deaf(at)}
	if claim.Deaf {
		claim.Lasts = b.lasts(o)
	}
	return claim
}

// missedAt is from when on the advertisements of a claimant count as missing.
func (c *claimants) missedAt(o *Member) time.Time {
	return later(o.claims, c.last(o.Address)).Add(o.Peer.Router.Interval * 5 / 2)
}

// noteMissing notes whose advertisements are missing, and tells whether these are others than before.
func (c *claimants) noteMissing(now time.Time, others []Member) (changed bool) {
	var missing []netip.Addr
	for i := range others {
		if o := &others[i]; o.claiming() && !now.Before(c.missedAt(o)) {
			missing = append(missing, o.Address)
		}
	}
	if slices.Equal(missing, c.missing) {
		return false
	}
	c.missing = missing
	return true
}

// hears is what the others are told about themselves. As there is not room for all in a message, the claimants come first, and of them
// those that were heard for longest: one that is left out takes this node for deaf.
func (c *claimants) hears(others []Member) []Heard {
	var order []*Member
	for i := range others {
		order = append(order, &others[i])
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
		list = append(list, Heard{Session: o.Session, Missing: slices.Contains(c.missing, o.Address)})
	}
	return list
}

// claims tells whether o claims the address now, and none of its advertisements arrives.
func (c *claimants) claims(now time.Time, o *Member, b bounds) bool {
	return o.claiming() && !o.unheard.IsZero() && now.Before(b.claimEnds(o)) && c.last(o.Address).Before(o.unheard)
}

// Claimant is a member that claims the address and of which no advertisement arrives.
type Claimant struct {
	Member
	Since time.Time
	Deaf  bool // it does not hear this node either
	Split bool // it has lasted for so long that an operator has to know
}

// all are the claimants among the others, the one that ranks highest first.
func (c *claimants) all(now time.Time, others []Member, b bounds) []Claimant {
	var list []Claimant
	for i := range others {
		o := &others[i]
		if c.claims(now, o, b) {
			list = append(list, Claimant{
				Member: *o, Since: o.unheard, Deaf: o.deaf(o.Heard), Split: !now.Before(c.splitAt(o)),
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

func (c *claimants) splitAt(o *Member) time.Time {
	return later(c.missedAt(o), later(o.unheard, c.began).Add(splitAfter))
}

// deadline is when noteMissing has something to do, or all changes; what was due at the time of the last step is done.
func (c *claimants) deadline(stepped time.Time, others []Member, b bounds) (next time.Time) {
	for i := range others {
		o := &others[i]
		if !o.claiming() {
			continue
		}
		if !slices.Contains(c.missing, o.Address) {
			next = sooner(next, c.missedAt(o))
		}
		if o.unheard.IsZero() || c.last(o.Address).After(o.unheard) {
			continue
		}
		for _, at := range []time.Time{c.splitAt(o), b.claimEnds(o)} {
			if at.After(stepped) {
				next = sooner(next, at)
			}
		}
	}
	return next
}
