package spread

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
)

const (
	// suspectAfter and silentAfter are how many of its messages may be missed of a member, in tenths: before its host is asked,
	// and until the election says that it is silent. By then a host that is dead has left as many questions unanswered as it takes to say so, so that
	// all members, which have heard its last message at one moment, say so at one moment.
	suspectAfter, silentAfter = 20, 35
	// stuckAfter is until when, in tenths, the election is to have said so. After a standstill of this process it does not: it first reads
	// what has come in meanwhile.
	stuckAfter = 200
	// leastEvery is the least time between two messages of a member that does not say it.
	leastEvery = 100 * time.Millisecond
	// askAgain is the time between questions to a host that has not answered, and askLater to one that has.
	askAgain, askLater = 45 * time.Millisecond, time.Second
	// startTime is for how long after the start of this node the others, if they were started with it, may not have said that they spread.
	startTime = 3 * time.Second
	// unanswered is how many questions in a row a dead host leaves without an answer.
	unanswered = 3
	// forgetDead and forgetSilent are for how long a member that is not heard keeps its place among those that are not listed. Until then
	// it moves no other member's slots; after that all nodes have the same members again, however long each of them has run. That of a dead one
	// begins when this node cannot be the one that is cut off: until then connections to it were not ended.
	forgetDead, forgetSilent = 30 * time.Second, lifetime + time.Minute
	// mostKnown bounds how many that are not listed are remembered: without a key anybody on the link can invent members.
	mostKnown = 64
)

// roster is the members beside this node, and what can be expected of each. It is pure: what happens it is told, with the time.
type roster struct {
	pace
	each   bool       // there is no holder: routers send packets to each member that is active
	self   netip.Addr // which is none of them
	listed []netip.Addr
	begun  time.Time // until then members may still be about to say that they spread
	all    []*member
	// holderHasAll tells that the holder serves everything, as one does that does not spread yet while others do; lacksHolder that none is known, or
	// not how it spreads.
	holderHasAll, lacksHolder bool

	forgot time.Time // when clients were forgotten last that nobody says any more
	hearing
}

// begin opens a term, of a node with that address. The members are known at settled.
func (r *roster) begin(self netip.Addr, settled time.Time) {
	r.begun, r.lacksHolder = settled.Add(startTime), !r.each
	r.become(self)
}

// become has this node be known by that address.
func (r *roster) become(self netip.Addr) {
	r.self = self
	r.all = slices.DeleteFunc(r.all, func(m *member) bool { return m.address == self })
}

// named is the address by which the tables know a member: that by which the election does, or the one at which it serves where that is listed. A list
// has addresses that a host on another link can use, and by IPv6 the election has none.
func (r *roster) named(address, serves netip.Addr) netip.Addr {
	if !slices.Contains(r.listed, address) && slices.Contains(r.listed, serves) {
		return serves
	}
	return address
}

// pace is how fast members speak, and what follows from that. Its interval is that of a member that does not say its own.
type pace struct{ interval time.Duration }

// every is the time between two messages of a member.
func (p *pace) every(m *member) time.Duration {
	if m.spread.Every > 0 {
		return max(m.spread.Every, leastEvery)
	}
	return max(p.interval, leastEvery)
}

// silence is for how long a member may be unheard, and suspicion after how long its host is asked.
func (p *pace) silence(m *member) time.Duration   { return p.every(m) * silentAfter / 10 }
func (p *pace) suspicion(m *member) time.Duration { return p.every(m) * suspectAfter / 10 }

// hear takes in what the election knows of the members at now.
func (r *roster) hear(now time.Time, list []election.Member) {
	r.forgetClients(now)
	r.listen(list)
	for _, a := range r.listed {
		if a != r.self {
			r.find(a, true)
		}
	}
	spreading, others := map[netip.Addr]bool{}, map[*member]bool{}
	for i := range list {
		m := &list[i]
		if m.Self || m.Witness || m.Address.WithZone("") == r.self {
			continue
		}
		address := m.OnLink()
		if m.Spread != nil {
			address = r.named(address, m.Spread.Serves)
		}
		if address == r.self {
			continue // two with one address: this node cannot reach the other one
		}
		admitted := r.admits(address, m.Spread)
		// The election shows silent ones for long after they had their time here, with their last word.
		comes := admitted && m.State != election.Silent
		known := r.find(address, comes && (m.Spread != nil || m.Speaks() && now.Before(r.begun)))
		switch {
		case known == nil:
			continue
		case m.Spread != nil && !admitted && known.unlistedSince.IsZero(): // it has another list
			r.drop(known)
			continue
		}
		known.holder = m.State == election.Active && !r.each
		if m.Spread == nil { // as one that has just been started again, or does not spread any more
			if m.State != election.Silent {
				others[known] = true
			}
			continue
		}
		spreading[known.address] = true
		known.by = m.Address.WithZone("")
		r.update(now, known, m)
	}
	r.age(now, spreading, others)
	r.lookForHolder(list)
}

// lookForHolder notes what is known of the holder. While there is none this node lacks it, or not, as before: the next one is one of those that are known.
func (r *roster) lookForHolder(list []election.Member) {
	i := slices.IndexFunc(list, func(m election.Member) bool { return m.State == election.Active })
	r.holderHasAll = false
	if r.each || i < 0 {
		return
	}
	known, other := r.find(list[i].Address.WithZone(""), false), !list[i].Self
	r.holderHasAll, r.lacksHolder = other && known == nil, other && (known == nil || !known.heard)
}

// age notes since when members do not spread, and forgets those that have had their time. spreading are those that say so, by their addresses, and
// others are heard and do not.
func (r *roster) age(now time.Time, spreading map[netip.Addr]bool, others map[*member]bool) {
	for _, m := range slices.Clone(r.all) {
		m.holder = m.holder && (spreading[m.address] || others[m])
		m.awaited = !m.heard && others[m] && now.Before(r.begun)
		if !spreading[m.address] {
			m.markSilent(now)
		}
		if m.dead && m.lostSince.IsZero() && r.sure(m) {
			m.lost(now)
		}
		switch {
		case !others[m]:
			m.notSpreadingSince = time.Time{}
		case m.notSpreadingSince.IsZero():
			m.notSpreadingSince = now
		}
		if m.gone(now) || m.unlistedSince.IsZero() && !slices.Contains(r.listed, m.address) && m.expired(now) {
			r.drop(m)
		}
	}
}

// admits tells whether a member of that address has a place: a list leaves out all others, but for those that send on what they receive, and
// serve nothing.
func (r *roster) admits(a netip.Addr, said *election.Spread) bool {
	return len(r.listed) == 0 || slices.Contains(r.listed, a) || said != nil && said.Weight == 0
}

// position is where a member comes in the tables. Those that are not listed come last.
func (r *roster) position(a netip.Addr) int {
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
			m.unlistedSince = time.Time{}
		case m.unlistedSince.IsZero():
			m.unlistedSince = now
		}
		return !m.unlistedSince.IsZero() && !m.heard
	})
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
		if m.dead && (oldest < 0 || m.silentSince.Before(r.all[oldest].silentSince)) {
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

// update takes in what a member that spreads has said.
func (r *roster) update(now time.Time, m *member, e *election.Member) {
	m.node, m.spread, m.leaving, m.last = e.Node, *e.Spread, e.Unfit, e.LastHeard
	if e.State == election.Silent || !now.Before(m.last.Add(r.every(m)*stuckAfter/10)) {
		m.markSilent(now)
		return
	}
	m.heard, m.silentSince, m.lostSince, m.dead, m.doubted = true, time.Time{}, time.Time{}, false, false
	m.clients.hear(m.last, e.Spread.Clients, min(election.MostClients, mostClients-r.remembered()+len(m.clients.seen)))
}

// ask are the members whose hosts are to be asked at now, whether they are there, each until limit is over.
func (r *roster) ask(now time.Time) (due []netip.Addr, limit time.Duration) {
	for _, m := range r.all {
		if !r.suspected(m, now) {
			m.missed, m.askNext = 0, time.Time{}
			continue
		}
		if m.asking || m.dead || now.Before(m.askNext) {
			continue
		}
		m.asking, m.askNext = true, now.Add(askAgain) // also where the question fails at once, as on a link that is down
		due = append(due, m.address)
	}
	return due, askAgain
}

// suspected tells that a member is silent, or about to be.
func (p *pace) suspected(m *member, now time.Time) bool {
	return !m.silentSince.IsZero() || m.heard && !now.Before(m.last.Add(p.suspicion(m)))
}

// next is when something is due after now, at the latest in an interval, and when a member is to have said something more: see
// [election.Spread.Clients].
func (r *roster) next(now time.Time) time.Time {
	due := now.Add(r.interval)
	for _, m := range r.all {
		moments := []time.Time{m.askNext}
		if m.heard && m.silentSince.IsZero() {
			moments = append(moments, r.look(now, m), m.last.Add(r.suspicion(m)), m.last.Add(r.silence(m)))
		}
		for _, at := range moments {
			if at.After(now) && at.Before(due) {
				due = at
			}
		}
	}
	return due
}

// look is when to look at what that member says next: half-way between the message that is expected and the one after it. A look at the pace of the
// messages, which is a little late each time, would miss one now and then. While the message does not come, it is looked for twice as often.
func (p *pace) look(now time.Time, m *member) time.Time {
	every := p.every(m)
	at, soonest := m.last.Add(every+every/2), now.Add(every/2)
	if at.Before(soonest) {
		return soonest
	}
	return at
}

// answered takes in what became of a question.
func (r *roster) answered(now time.Time, a netip.Addr, err error) {
	if m := r.find(a, false); m != nil {
		m.answered(now, err)
	}
}

// declareDead has silent members whose hosts do not answer counted as dead.
func (r *roster) declareDead() {
	for _, m := range r.all {
		if !m.dead && !m.silentSince.IsZero() && m.missed >= unanswered {
			m.dead, m.doubted = true, !r.sure(m)
		}
	}
}

// clientTime is for how long a client of that member counts that it says no more.
func (p *pace) clientTime(m *member) time.Duration { return max(clientTime, clientTurns*p.every(m)) }

// forgetClients forgets those that no member has said for long: what they leave behind, of all members, is the room of those that there are.
func (r *roster) forgetClients(now time.Time) {
	if now.Sub(r.forgot) < forgetEvery {
		return
	}
	r.forgot = now
	for _, m := range r.all {
		m.clients.forget(now, r.clientTime(m))
	}
}

// remembered is how many clients of all members are.
func (r *roster) remembered() (n int) {
	for _, m := range r.all {
		n += len(m.clients.seen)
	}
	return n
}

// orphans are the clients of members that have died, each once, and these members. What a holder has masqueraded is lost as soon as another has the
// address.
func (r *roster) orphans(masquerades bool) (all []election.Client, of []netip.Addr) {
	for _, m := range r.all {
		if lost := m.dead || masquerades && !m.silentSince.IsZero(); !lost || len(m.clients.seen) == 0 {
			continue
		}
		all, of = append(all, m.clients.take(r.clientTime(m))...), append(of, m.address)
	}
	return all, of
}

// connected tells whether another member has connections to these ports, as far as it says.
func (r *roster) connected(ports []config.SpreadPort) bool {
	return slices.ContainsFunc(r.all, func(m *member) bool { return !m.dead && m.connections(ports) > 0 })
}

// translated tells whether a member that is heard still translates connections to this node, or has not counted them since it translates no new ones.
func (r *roster) translated() bool {
	return slices.ContainsFunc(r.all, func(m *member) bool {
		if !m.spread.Translates || !m.heard || !m.silentSince.IsZero() {
			return false
		}
		own := slices.IndexFunc(m.spread.Left, func(l election.Left) bool { return l.Member == r.self })
		return own < 0 || m.spread.Left[own].Connections > 0
	})
}
