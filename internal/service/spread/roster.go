package spread

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/slots"
)

const (
	// suspectAfter and silentAfter are how many of its messages may be missed of a member, in tenths: before its host is asked,
	// and until the election says that it is silent.
	suspectAfter, silentAfter = 22, 35
	// stuckAfter is until when, in tenths, the election is to have said so. After a standstill of this process it does not: it first reads
	// what has come in meanwhile.
	stuckAfter = 200
	// leastEvery is the least time between two messages of a member that does not say it.
	leastEvery = 100 * time.Millisecond
	// askAgain is the time between questions to a host that has not answered, and askLater to one that has.
	askAgain, askLater = 50 * time.Millisecond, time.Second
	// soon is for how long after the start of this node the others, if they were started with it, may not have said that they spread.
	soon = 3 * time.Second
	// unanswered is how many questions in a row a dead host leaves without an answer.
	unanswered = 3
	// forgetDead and forgetSilent are for how long a member that is not heard keeps its place among those that are not listed. Until then
	// it moves no other member's slots; after that all nodes have the same members again, however long each of them has run.
	forgetDead, forgetSilent = 30 * time.Second, lifetime + time.Minute
	// mostKnown bounds how many that are not listed are remembered: without a key anybody on the link can invent members.
	mostKnown = 64
)

// member is one that spreads, as this node knows it.
type member struct {
	address netip.Addr // on the link of the virtual addresses
	by      netip.Addr // by which the election knows it
	node    string
	spread  election.Spread
	heard   bool // ever
	due     bool // it was never heard, and may have connections of the time before this node began
	fit     bool // it says so, of the election
	last    time.Time
	silent  time.Time // since when it does not say that it spreads; zero: it does
	mute    time.Time // since when it is heard, and does not say that it spreads; zero: it is not, or does

	asking   bool // a question is on its way
	next     time.Time
	missed   int  // questions in a row that were not answered
	dead     bool // until it is heard again
	holder   bool
	leaving  string // what it says of why it is not fit
	draining bool
	unlisted time.Time // since when it is not listed any more; zero: it is, or nobody is
}

// roster is the members beside this node, and what can be expected of each. It is pure.
type roster struct {
	interval time.Duration
	self     netip.Addr // which is none of them
	listed   []netip.Addr
	begun    time.Time // until then members may still be about to say that they spread
	all      []*member
}

// every is the time between two messages of a member.
func (r *roster) every(m *member) time.Duration {
	if m.spread.Every > 0 {
		return max(m.spread.Every, leastEvery)
	}
	return max(r.interval, leastEvery)
}

// silence is for how long a member may be unheard, and suspicion after how long its host is asked.
func (r *roster) silence(m *member) time.Duration   { return r.every(m) * silentAfter / 10 }
func (r *roster) suspicion(m *member) time.Duration { return r.every(m) * suspectAfter / 10 }

// hear takes in what the election knows of the members at now.
func (r *roster) hear(now time.Time, list []election.Member) {
	for _, a := range r.listed {
		if a != r.self {
			r.find(a, true)
		}
	}
	seen, quiet := map[netip.Addr]bool{}, map[*member]bool{}
	for i := range list {
		m := &list[i]
		if m.Self || m.Witness || m.Address.WithZone("") == r.self {
			continue
		}
		address := m.Address.WithZone("")
		if m.Spread != nil && m.Spread.Address.IsValid() {
			address = m.Spread.Address
		}
		if address == r.self {
			continue // two with one address: this node cannot reach the other one
		}
		admitted := r.admits(address, m.Spread)
		known := r.find(address, admitted && (m.Spread != nil || m.Speaks && !m.Silent && now.Before(r.begun)))
		switch {
		case known == nil:
			continue
		case m.Spread != nil && !admitted && known.unlisted.IsZero(): // it has another list
			r.drop(known)
			continue
		}
		known.holder = m.State == election.Active && !m.Silent
		if m.Spread == nil { // as one that has just been started again, or does not spread any more
			if !m.Silent {
				quiet[known] = true
			}
			continue
		}
		seen[known.address] = true
		known.by = m.Address.WithZone("")
		r.listen(now, known, m)
	}
	for _, m := range slices.Clone(r.all) {
		m.holder = m.holder && (seen[m.address] || quiet[m])
		m.due = !m.heard && quiet[m] && now.Before(r.begun)
		if !seen[m.address] {
			m.lose(now)
		}
		switch {
		case !quiet[m]:
			m.mute = time.Time{}
		case m.mute.IsZero():
			m.mute = now
		}
		if m.gone(now) || m.unlisted.IsZero() && !slices.Contains(r.listed, m.address) && m.old(now) {
			r.drop(m)
		}
	}
}

// admits tells whether a member of that address has a place: a list leaves out all others, but for those that send on what they receive, and
// serve nothing.
func (r *roster) admits(a netip.Addr, said *election.Spread) bool {
	return len(r.listed) == 0 || slices.Contains(r.listed, a) || said != nil && said.Weight == 0
}

// place is where a member comes in the tables. Those that are not listed come last.
func (r *roster) place(a netip.Addr) int {
	i := slices.Index(r.listed, a)
	if i < 0 {
		return len(r.listed)
	}
	return i
}

// list has these be the members. One that is not listed any more keeps its connections for a while.
func (r *roster) list(now time.Time, listed []netip.Addr) {
	r.listed = listed
	r.all = slices.DeleteFunc(r.all, func(m *member) bool {
		switch {
		case r.admits(m.address, m.said()):
			m.unlisted = time.Time{}
		case m.unlisted.IsZero():
			m.unlisted = now
		}
		return !m.unlisted.IsZero() && !m.heard
	})
}

// said is how it spreads; nil: it has not said yet.
func (m *member) said() *election.Spread {
	if !m.heard {
		return nil
	}
	return &m.spread
}

// gone tells that a member that is not listed any more has no connections, or had its time.
func (m *member) gone(now time.Time) bool {
	if m.unlisted.IsZero() {
		return false
	}
	connected := slices.ContainsFunc(m.spread.Ports, func(p election.SpreadPort) bool { return p.Connections > 0 })
	since := now.Sub(m.unlisted)
	return m.dead || since >= EndsWithin || since >= leastEnding && !connected
}

// find is the member of that address; with add a new one if need be and there is room, else nil where there is none.
func (r *roster) find(a netip.Addr, add bool) *member {
	i := slices.IndexFunc(r.all, func(m *member) bool { return m.address == a || m.by == a })
	if i >= 0 {
		return r.all[i]
	}
	if !add || !r.room(a) {
		return nil
	}
	m := &member{address: a}
	r.all = append(r.all, m)
	return m
}

// room tells whether there is some for a new member, and makes it in place of the dead one that is silent longest.
func (r *roster) room(a netip.Addr) bool {
	if slices.Contains(r.listed, a) {
		return true
	}
	known, oldest := 0, -1
	for i, m := range r.all {
		if slices.Contains(r.listed, m.address) {
			continue
		}
		known++
		if m.dead && (oldest < 0 || m.silent.Before(r.all[oldest].silent)) {
			oldest = i
		}
	}
	if known >= mostKnown && oldest >= 0 {
		r.all = slices.Delete(r.all, oldest, oldest+1)
		known--
	}
	return known < mostKnown
}

func (r *roster) drop(gone *member) {
	if slices.Contains(r.listed, gone.address) {
		*gone = member{address: gone.address}
		return
	}
	r.all = slices.DeleteFunc(r.all, func(m *member) bool { return m == gone })
}

// listen takes in what a member that spreads has said.
func (r *roster) listen(now time.Time, m *member, e *election.Member) {
	m.node, m.spread, m.fit, m.leaving, m.draining, m.last = e.Node, *e.Spread, e.Fit, e.Unfit, e.Draining, e.LastHeard
	if e.Silent || !now.Before(m.last.Add(r.every(m)*stuckAfter/10)) {
		m.lose(now)
		return
	}
	m.heard, m.silent, m.dead = true, time.Time{}, false
}

// lose notes that nothing is heard of it.
func (m *member) lose(now time.Time) {
	if m.silent.IsZero() {
		m.silent = now
	}
}

// old tells that its place is given up.
func (m *member) old(now time.Time) bool {
	switch {
	case m.silent.IsZero():
		return false
	case !m.heard && !m.mute.IsZero():
		return !m.due
	case !m.mute.IsZero(): // it lives, and may be about to spread again
		return now.Sub(m.mute) > forgetDead
	case m.dead || !m.heard:
		return now.Sub(m.silent) > forgetDead
	}
	return now.Sub(m.silent) > forgetSilent
}

// ask are the members whose hosts are to be asked at now, whether they are there, each until limit is over.
func (r *roster) ask(now time.Time) (due []netip.Addr, limit time.Duration) {
	for _, m := range r.all {
		if !r.doubtful(m, now) {
			m.missed, m.next = 0, time.Time{}
			continue
		}
		if m.asking || m.dead || now.Before(m.next) {
			continue
		}
		m.asking = true
		due = append(due, m.address)
	}
	return due, askAgain
}

// doubtful tells that a member is silent, or about to be.
func (r *roster) doubtful(m *member, now time.Time) bool {
	return !m.silent.IsZero() || m.heard && !now.Before(m.last.Add(r.suspicion(m)))
}

// next is when something is due after now, at the latest in an interval.
func (r *roster) next(now time.Time) time.Time {
	due := now.Add(r.interval)
	for _, m := range r.all {
		moments := []time.Time{m.next}
		if m.heard && m.silent.IsZero() {
			moments = append(moments, m.last.Add(r.suspicion(m)), m.last.Add(r.silence(m)))
		}
		for _, at := range moments {
			if at.After(now) && at.Before(due) {
				due = at
			}
		}
	}
	return due
}

// answered takes in what became of a question.
func (r *roster) answered(now time.Time, a netip.Addr, there bool) {
	m := r.find(a, false)
	if m == nil {
		return
	}
	m.asking = false
	if there {
		m.missed, m.next = 0, now.Add(askLater)
		return
	}
	m.missed++
	m.next = now
}

// settle has silent members whose hosts do not answer counted as dead.
func (r *roster) settle() {
	for _, m := range r.all {
		if !m.silent.IsZero() && m.missed >= unanswered {
			m.dead = true
		}
	}
}

// condition is what can be expected of a member for one part of the ports, and why it is not fit.
func (m *member) condition(p part) (slots.Condition, string) {
	switch {
	case m.dead:
		return slots.Dead, "its host does not answer"
	case m.due:
		return slots.Keeps, "it has not said yet that it spreads"
	case !m.heard:
		return slots.Dead, "it was never heard"
	case m.serves(p) == 0:
		return slots.Dead, "it does not spread the port"
	case !m.unlisted.IsZero():
		return slots.Keeps, "it is not listed any more"
	case !m.mute.IsZero():
		return slots.Keeps, "it does not spread"
	case !m.silent.IsZero():
		return slots.Keeps, "its keepvip is silent"
	case m.serves(p) < len(p.ports): // as while one node after the other is reloaded
		return slots.Keeps, "it does not spread all of these ports"
	case !m.healthy(p):
		return slots.Keeps, p.unhealthy(m.leaving)
	case m.spread.Weight == 0:
		return slots.Fit, "its weight is 0"
	}
	return slots.Fit, ""
}

// unhealthy is why a member keeps what it has, which says that of itself.
func (p part) unhealthy(why string) string {
	switch {
	case why != "":
		return why
	case p.check != "":
		return fmt.Sprintf("the check %s fails", p.check)
	}
	return "it is not fit"
}

// serves is how many of the ports the member translates.
func (m *member) serves(p part) (n int) {
	for _, port := range p.ports {
		if m.port(port) != nil {
			n++
		}
	}
	return n
}

func (m *member) healthy(p part) bool {
	return (p.check != "" || m.spread.Fit) && !slices.ContainsFunc(p.ports, func(port Port) bool { return !m.port(port).Healthy })
}

func (m *member) port(p Port) *election.SpreadPort {
	i := slices.IndexFunc(m.spread.Ports, func(s election.SpreadPort) bool { return s.Protocol == p.Protocol && s.Port == p.Port })
	if i < 0 {
		return nil
	}
	return &m.spread.Ports[i]
}
