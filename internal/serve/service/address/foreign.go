package address

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

const (
	// foreignGrace is how long a claim waits before it is reported: its MAC may be that of a member that
	// has just become Active, and the answer that says so is on its way.
	foreignGrace = 500 * time.Millisecond
	// foreignForget ends a conflict: three probes in a row had no answer.
	foreignForget = 3*probeInConflict + 2*time.Second
	// vacantAfter does so while the conflict forbids the first bind, when nobody else may hold the address.
	vacantAfter = 3*probeToBind + probeToBind/2
	// defendEvery is DEFEND_INTERVAL (RFC 5227 section 1.1).
	defendEvery = 10 * time.Second
	// mostForeign bounds what a flood of invented claims can make this node remember.
	mostForeign = 16
	// questionEvery and questionBurst bound the questions for members' MACs, which go to all hosts of the link: a forger invents
	// a member with each packet. The members of a real group are asked at once.
	questionEvery = 100 * time.Millisecond
	questionBurst = 16
	// questionsAgain is how often a member whose MAC is known is asked anew before a claim is a stranger's: all within foreignGrace.
	questionsAgain = 4
)

// foreignHosts tells hosts that take no part in the election from those that do. It is pure.
//
// An advertisement does not carry a MAC that could be trusted for another protocol, so members are known by
// the MACs that answer for their own addresses.
type foreignHosts struct {
	vrid     uint8
	outlives time.Duration             // for how long after it was heard a member's kernel may still answer for the virtual address
	members  map[netip.Addr]*questions // by their own addresses
	known    memberMACs
	claims   []claimed
	defended time.Time
	asked    time.Time // questions are paid for until then
	// ready is when every member that advertises has been heard: before that a claim may be its.
	ready time.Time
	// turnedMember tells that a reported claim has turned out to be a member's.
	turnedMember bool
}

// questions are those for the MAC of a member.
type questions struct {
	found bool      // a MAC of it is known
	again int       // questions left for another one
	tries int       // questions asked so far
	ask   time.Time // the next one
}

type claimed struct {
	instance.Conflict
	reported bool
}

// unsure tells that a MAC of the member is to be asked for.
func (q *questions) unsure() bool { return !q.found || q.again > 0 }

// memberRetries are the waits between two questions for a member's MAC; the last one repeats.
var memberRetries = []time.Duration{20 * time.Millisecond, 80 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, 15 * time.Second}

// newForeignHosts begins with nobody known; by ready every member that advertises has been heard.
func newForeignHosts(vrid uint8, ready time.Time, outlives time.Duration) foreignHosts {
	return foreignHosts{vrid: vrid, ready: ready, outlives: outlives}
}

// setMembers replaces the members' own addresses, and tells whether they are others than before. What is
// known of those that stay is kept. Whoever has left takes no part any more, and is not reported nevertheless while its kernel may still
// answer; what was heard of one that is back was a member's.
func (s *foreignHosts) setMembers(now time.Time, addresses []netip.Addr) bool {
	changed := len(addresses) != len(s.members) || slices.ContainsFunc(addresses, func(a netip.Addr) bool { return s.members[a] == nil })
	if changed {
		next := make(map[netip.Addr]*questions, len(addresses))
		for _, a := range addresses {
			if next[a] = s.members[a]; next[a] == nil {
				next[a] = &questions{ask: now.Add(memberRetries[0])}
			}
		}
		s.members = next
	}
	for _, mac := range s.known.follow(now, s.isMember) {
		s.forgive(mac)
	}
	return changed
}

// hear takes in a claim, and reports whether it is that of a known foreign host, or else which known member claims a virtual address.
func (s *foreignHosts) hear(now time.Time, c Claim) (foreign bool, member netip.Addr) {
	if m := s.members[c.Address]; m != nil {
		m.found, m.again = true, 0
		s.learn(c.MAC, c.Address)
		return false, netip.Addr{}
	}
	if member := s.known.member(c.MAC, now.Add(-s.outlives)); member.IsValid() || c.VRID != 0 && c.VRID == s.vrid {
		return false, member
	}
	i := slices.IndexFunc(s.claims, func(o claimed) bool { return o.Address == c.Address && o.MAC == c.MAC })
	if i >= 0 {
		s.claims[i].LastSeen = now
		s.askAgain(now)
		return s.claims[i].reported, netip.Addr{}
	}
	if len(s.claims) < mostForeign {
		s.askAgain(now)
		s.claims = append(s.claims, claimed{Conflict: instance.Conflict{Address: c.Address, MAC: c.MAC, Since: now, LastSeen: now}})
	}
	return false, netip.Addr{}
}

// askAgain has the members asked for their MACs whose MAC is known: one may have another by now, as by a bond whose active port has changed.
func (s *foreignHosts) askAgain(now time.Time) {
	for _, m := range s.members {
		if m.found && m.again == 0 && !now.Before(m.ask) {
			m.again, m.tries, m.ask = questionsAgain, 0, now
		}
	}
}

// tell notes what the host of a MAC says by VRRP, and reports whether that is news.
func (s *foreignHosts) tell(mac string, says instance.Router) (news bool) {
	for i := range s.claims {
		if c := &s.claims[i]; c.MAC == mac && c.reported && (c.VRRP == nil || *c.VRRP != says) {
			c.VRRP, news = &says, true
		}
	}
	return news
}

// learn notes that a MAC is a member's.
func (s *foreignHosts) learn(mac string, member netip.Addr) {
	s.known.learn(mac, member, s.isMember)
	s.forgive(mac)
}

// forgive forgets what a member has claimed.
func (s *foreignHosts) forgive(mac string) {
	s.claims = slices.DeleteFunc(s.claims, func(c claimed) bool {
		s.turnedMember = s.turnedMember || c.MAC == mac && c.reported
		return c.MAC == mac
	})
}

func (s *foreignHosts) isMember(own netip.Addr) bool { return s.members[own] != nil }

// review returns the conflicts that have begun, and those that are over because nobody has claimed anything for so long.
func (s *foreignHosts) review(now time.Time, forget time.Duration) (begun, over []instance.Conflict) {
	for i := range s.claims {
		c := &s.claims[i]
		if !c.reported && !now.Before(s.reportAt(c)) {
			c.reported = true
			begun = append(begun, c.Conflict)
		}
	}
	s.claims = slices.DeleteFunc(s.claims, func(c claimed) bool {
		end := now.Sub(c.LastSeen) >= forget
		if end && c.reported {
			over = append(over, c.Conflict)
		}
		return end
	})
	return begun, over
}

// reportAt is when a claim is reported unless its MAC turns out to be a member's.
func (s *foreignHosts) reportAt(c *claimed) time.Time {
	if at := c.Since.Add(foreignGrace); at.After(s.ready) {
		return at
	}
	return s.ready
}

// cleared tells, once, that a reported claim was a member's after all.
func (s *foreignHosts) cleared() bool {
	was := s.turnedMember
	s.turnedMember = false
	return was
}

// next is when review, with the same forget, or question has something to do; zero when they have not.
func (s *foreignHosts) next(forget time.Duration) time.Time {
	var next time.Time
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, c := range s.claims {
		sooner(c.LastSeen.Add(forget))
		if !c.reported {
			sooner(s.reportAt(&c))
		}
	}
	for _, m := range s.members {
		if m.unsure() {
			sooner(later(m.ask, s.asked.Add(-(questionBurst-1)*questionEvery)))
		}
	}
	return next
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// question returns the members whose MAC is to be asked for now, those first that wait for longest.
func (s *foreignHosts) question(now time.Time) []netip.Addr {
	var due []netip.Addr
	for a, m := range s.members {
		if m.unsure() && !now.Before(m.ask) {
			due = append(due, a)
		}
	}
	slices.SortFunc(due, func(a, b netip.Addr) int {
		return cmp.Or(s.members[a].ask.Compare(s.members[b].ask), a.Compare(b))
	})
	for i, a := range due {
		if s.asked.Sub(now) > (questionBurst-1)*questionEvery {
			return due[:i]
		}
		m := s.members[a]
		s.asked = later(s.asked, now).Add(questionEvery)
		m.tries++
		m.again = max(m.again-1, 0)
		m.ask = now.Add(memberRetries[min(m.tries, len(memberRetries)-1)])
	}
	return due
}

// conflicts lists what was reported and is not over.
func (s *foreignHosts) conflicts() []instance.Conflict {
	var out []instance.Conflict
	for _, c := range s.claims {
		if c.reported {
			out = append(out, c.Conflict)
		}
	}
	return out
}

// suspects are the addresses that are claimed, reported or not.
func (s *foreignHosts) suspects() []netip.Addr {
	var out []netip.Addr
	for _, c := range s.claims {
		if !slices.Contains(out, c.Address) {
			out = append(out, c.Address)
		}
	}
	return out
}

// suspect is a claim that may be a conflict, reported or not.
func (s *foreignHosts) suspect() (instance.Conflict, bool) {
	if len(s.claims) == 0 {
		return instance.Conflict{}, false
	}
	return s.claims[0].Conflict, true
}

// defend tells whether to announce the addresses, once, against a foreign host's claim (RFC 5227 section 2.4 (c)):
// not more often than every DEFEND_INTERVAL, because two hosts that both defended at once would never end.
func (s *foreignHosts) defend(now time.Time) bool {
	if !s.defended.IsZero() && now.Sub(s.defended) < defendEvery {
		return false
	}
	s.defended = now
	return true
}
