package virtualrouter

import (
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
)

const (
	// firstComplaint and mostComplaint bound for how long a holder that members complain of comes last: it takes twice as long each time.
	firstComplaint, mostComplaint = 10 * time.Second, 5 * time.Minute
	// leastOutsiders is how many members have to say that their connections do not come here: of one, it may be its own that do not leave.
	leastOutsiders = 2
	// vouchTime is how long another host has to answer, so that what this node says of the holder counts.
	vouchTime = 500 * time.Millisecond
)

// blame is of the holder that has left this node's questions for the address unanswered. The others are told only where
// a host answers this node just then: another one, which is asked, or the holder at its own address. Otherwise it may be
// this node that answers do not reach, while words to all do. Where no other host is there nobody can tell, and the
// others are told: an address that moves in vain costs less than one that stays where nobody answers.
type blame struct {
	x       *handoverProtocol
	holder  netip.Addr // not valid: none
	since   time.Time  // when it was blamed first
	asked   time.Time  // when the other hosts were asked
	vouched bool
}

// of takes in which holder has left questions unanswered; the service says it again as long as that goes on. Each time the other hosts have a moment to
// answer. Later answers prove nothing: the holder was not asked again yet, and would answer by now, too.
func (b *blame) of(holder netip.Addr) {
	if holder != b.holder {
		b.holder, b.since, b.vouched = holder, b.x.m.now, false
	}
	m := b.x.m
	if b.vouched || !holder.IsValid() {
		return
	}
	var q members.Question
	if m.cfg.Ears != nil {
		// A host that has fallen silent with the holder counts for good: it is more likely this node that answers do not reach.
		q = m.hearing.Others(holder, b.since, m.now, m.roster.left)
	}
	if b.asked, b.vouched = m.now, q.None(); !b.vouched {
		m.agenda.act(ask{q})
	}
}

// again asks the other hosts once more, as there are others now.
func (b *blame) again() { b.of(b.holder) }

// hear takes in that a host has answered a question of this node.
func (b *blame) hear(at time.Time) {
	late := at.Sub(b.asked) // a question that was asked a moment before is not asked again
	b.vouched = b.vouched || b.holder.IsValid() && late > -members.QuestionGap && late < vouchTime
}

// said is the holder of which the others are told; not valid for none.
func (b *blame) said() netip.Addr {
	if b.vouched {
		return b.holder
	}
	return netip.Addr{}
}

// complaint is what follows when members say what this node, as the holder, does not do for the address. It is pure.
type complaint struct {
	code   code.Code
	reason string
	wait   time.Duration
	until  time.Time // comes last until then, and as long as members say so
}

// follow takes in why members complain now, empty if they do not, and tells whether the fitness is another one.
func (c *complaint) follow(now time.Time, why string, of code.Code) (changed bool) {
	switch {
	case why != "":
		changed = c.reason == ""
		if changed {
			c.wait = min(max(2*c.wait, firstComplaint), mostComplaint)
			c.reason, c.code = why, of
		}
		c.until = now.Add(c.wait)
	case c.reason != "" && !now.Before(c.until):
		c.reason, c.until = "", time.Time{}
		return true
	}
	return changed
}

// judgeAnswers makes a holder come last whose members get no answer, or no connection. What is broken stays broken when it has given the address away,
// so it comes last for a while.
func (s *standing) judgeAnswers() {
	m := s.m
	if m.x == nil {
		return
	}
	var silent, apart []members.Member
	if m.state == election.Active {
		silent, apart = m.x.members.Unanswered(), m.x.members.Unreached(m.source.WithZone(""))
	}
	apart = reachedBefore(apart)
	if len(apart) < leastOutsiders {
		apart = nil
	}
	s.complain(&s.unanswered, silent, code.Unanswered, "members ask for the address and get no answer from here",
		"members get no answer when they ask for the address: is ARP off here, or arp_ignore set?")
	s.complain(&s.unreached, apart, code.HeldUnreached, "members cannot connect to the address here",
		"members cannot connect to the address here: does a packet filter drop its port?")
}

// reachedBefore are those that have reached a holder since their start. The others may have no business there, and nothing moves for them.
func reachedBefore(list []members.Member) (out []members.Member) {
	for _, o := range list {
		if !o.Peer.NeverReached {
			out = append(out, o)
		}
	}
	return out
}

func (s *standing) complain(c *complaint, by []members.Member, of code.Code, reason, text string) {
	m := s.m
	names := make([]string, len(by))
	for i, o := range by {
		names[i] = election.Node{Address: o.Address, Name: o.Peer.Node}.Called()
	}
	why, list := "", strings.Join(names, ", ")
	if len(by) > 0 {
		why = reason + ": " + list
	}
	if !c.follow(m.now, why, of) {
		return
	}
	if why != "" {
		m.say(slog.LevelError, text, "members", list)
	}
	m.agenda.first(s.fit)
}

// outside is what this node sees of the holder when it connects to the address as a client does.
type outside struct {
	m *machine
	election.Unreached
}

// unreached is the holder to which this node's connections do not come; not valid for none, and where another node holds the address by now.
func (o *outside) unreached() netip.Addr {
	if o.m.state != election.Backup || o.Holder.WithZone("") != o.m.holder.address.WithZone("") {
		return netip.Addr{}
	}
	return o.Holder.WithZone("")
}

// outsiders are all nodes that say that their connections to the address do not come to the holder, and this node, if it is one.
func (o *outside) outsiders() (out []election.Outsider) {
	m := o.m
	holder := m.holder.address.WithZone("")
	if !holder.IsValid() {
		return nil
	}
	if o.unreached().IsValid() {
		self := election.Node{Address: m.source}
		if m.x != nil {
			self.Name = m.x.own.cfg.Node
		}
		out = append(out, election.Outsider{Node: self, Self: true, Never: o.Never})
	}
	if m.x == nil {
		return out
	}
	for _, n := range m.x.members.Unreached(holder) {
		out = append(out, election.Outsider{Node: election.Node{Address: n.Address, Name: n.Peer.Node}, Never: n.Peer.NeverReached})
	}
	return out
}
