package pulse

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

const (
	// Every is the time between two beats. They leave at multiples of it by the wall clock, as the advertisements of a node that beats do. So an
	// advertisement and the beat of that moment wake each node up once.
	Every = 30 * time.Millisecond
	// LeastWait is for how long at least a beat may be late before the others look what is the matter.
	LeastWait = 10 * time.Millisecond
	// mostLate bounds how late something counts: after that VRRP has decided for long.
	mostLate = 300 * time.Millisecond
	// peaceEvery is the time between two echoes while the beats come: who does not answer these, though it beats, is not judged by echoes.
	peaceEvery = 250 * time.Millisecond
	// peaceTime is how long the answer to such an echo is waited for, before more are sent.
	peaceTime = 20 * time.Millisecond
	// againAfter is the time from the end of a look that has found nothing certain to the next one.
	againAfter = Every
	// mostTries is how often a node is looked at whose beats do not come. Then it counts as one that does not beat.
	mostTries = 10
	// wordTime is for how long after the beginning of a look the others have to say what they find.
	wordTime = 40 * time.Millisecond
	// waitForAll is how much longer than its own look a member waits for those that have said nothing, once another one agrees.
	waitForAll = 6 * time.Millisecond
	// answerGap is the time between two answers to questions about the same node.
	answerGap = 3 * time.Millisecond
	// fewBeats is how many beats of a node have to be heard before one of them can be missed.
	fewBeats = 3
	// maxPeers bounds what a flood of invented members can make a node remember.
	maxPeers = 64
)

// event is something that has happened. The set is closed.
type event interface{ event() }

type (
	// expired says that the time has come at which the last step had something due. Everything that has arrived was given before.
	expired struct{}
	// holds says whether this node holds an address whose others watch it.
	holds struct{ On bool }
	// follows says which holders are watched here.
	follows struct{ Holders []netip.Addr }
	// met is a message that was believed, of a member that takes part in this.
	met struct {
		Source   netip.Addr
		Group    netip.Addr    // which this is about: a node may be a member of several
		Lifetime time.Duration // for how long it counts as a member of that if nothing more is heard; 0: it has left
	}
	// received is a message of a member.
	received struct {
		Source  netip.Addr
		Message Message
		At      time.Time // when the kernel took it in
	}
	// Echoed is an answer to an echo.
	Echoed struct {
		From netip.Addr
		At   time.Time     // when the kernel took it in
		Took time.Duration // since the echo was sent
	}
	// witnessed names the host that answers in place of another member, where there is none; the zero Addr for none, and then Lacks is why there is
	// none though one is wanted.
	witnessed struct {
		Witness netip.Addr
		Lacks   string
	}
)

func (expired) event()   {}
func (holds) event()     {}
func (follows) event()   {}
func (met) event()       {}
func (received) event()  {}
func (Echoed) event()    {}
func (witnessed) event() {}

// action is something to carry out, in order. The set is closed.
type action interface{ action() }

type (
	// send sends a message to all members. Its session is the sender's.
	send struct{ Message Message }
	// echo sends an echo request.
	echo struct{ To netip.Addr }
)

func (send) action() {}
func (echo) action() {}
func (Gone) action() {}

// Gone says that the node of a holder that is watched here is gone, and how that is known.
type Gone struct {
	Source  netip.Addr
	Since   time.Time     // when this node began to look: whatever is heard of it later shows that it is there
	Silent  time.Duration // since its last beat
	Echoes  int           // that were not answered
	Agreed  []netip.Addr  // members that have found the same, by address
	Witness netip.Addr    // the host that answered in place of a member; the zero Addr for none
	Wait    time.Duration // for how long a beat may be late here: others may be as late with finding this
}

// machine judges which holders are gone. It is pure: it has no clock and does no I/O. It is not safe for concurrent use.
type machine struct {
	self    netip.Addr
	witness netip.Addr
	lacks   string // why there is no witness
	own     ownBeat
	peers   []*peer
	due     time.Time // when expired is due, as of the last step; zero: never
	stepped time.Time // the last step
	delays  delays

	actions []action
}

// newMachine is the machine of the node with that own address.
func newMachine(self netip.Addr) *machine { return &machine{self: self.WithZone("")} }

// step handles one event at time now, and returns what to do. The slice is valid until the next step. now must not run backwards.
func (m *machine) step(now time.Time, ev event) []action {
	clear(m.actions)
	m.actions = m.actions[:0]
	m.noteLate(now)
	switch ev := ev.(type) {
	case expired:
	case holds:
		m.act(m.own.turn(now, ev.On))
	case follows:
		for _, p := range m.peers {
			p.follow(slices.Contains(ev.Holders, p.address))
		}
		for _, a := range ev.Holders {
			m.peer(a).follow(true)
		}
	case met:
		m.met(now, ev)
	case received:
		m.received(now, ev)
	case Echoed:
		m.echoed(now, ev)
	case witnessed:
		m.witness, m.lacks = ev.Witness.WithZone(""), ev.Lacks
	}
	m.act(m.own.whenDue(now))
	for _, p := range m.peers {
		m.tend(now, p)
	}
	m.due, m.stepped = m.deadline(now), now
	return m.actions
}

// noteLate keeps by how much this process is late. What has arrived may be given first, so each step looks.
func (m *machine) noteLate(now time.Time) {
	if due := later(m.due, m.stepped); !m.due.IsZero() && now.After(due) {
		m.delays.late.Note(now, min(now.Sub(due), mostLate))
	}
}

// act has an action carried out; nil: none.
func (m *machine) act(a action) {
	if a != nil {
		m.actions = append(m.actions, a)
	}
}

// peer is what is known of the node of that address; one that knows nothing where there is no room.
func (m *machine) peer(a netip.Addr) *peer {
	a = a.WithZone("")
	if p := m.find(a); p != nil {
		return p
	}
	p := &peer{address: a}
	if a.IsValid() && a != m.self && len(m.peers) < maxPeers {
		m.peers = append(m.peers, p)
	}
	return p
}

func (m *machine) find(a netip.Addr) *peer {
	if i := slices.IndexFunc(m.peers, func(p *peer) bool { return p.address == a }); i >= 0 {
		return m.peers[i]
	}
	return nil
}

// met takes in who is a member, and drops those that are none any more and that nobody watches.
func (m *machine) met(now time.Time, ev met) {
	m.peers = slices.DeleteFunc(m.peers, func(p *peer) bool { return !p.followed && !now.Before(p.until) })
	p := m.peer(ev.Source)
	if p.meet(now, ev.Group, ev.Lifetime); !p.member(now) {
		p.quiet()
	}
}

func (m *machine) received(now time.Time, r received) {
	p := m.find(r.Source.WithZone(""))
	if p == nil || !p.member(now) {
		return
	}
	switch msg := r.Message; msg.Type {
	case Beat:
		if late, ok := p.beats(msg, r.At); ok {
			m.delays.late.Note(now, min(late, mostLate))
		}
	case Ask:
		m.asked(now, msg.About)
	case Word:
		if about := m.find(msg.About); about != nil {
			about.say(p.address, msg.There, r.At)
		}
	}
}

// asked answers for a node: it is there if its beats come. Otherwise this node looks itself, and says then what it has found.
func (m *machine) asked(now time.Time, about netip.Addr) {
	if about == m.self {
		m.act(send{Message{Type: Word, About: about, There: true}})
		return
	}
	p := m.find(about)
	if p == nil || !p.member(now) || now.Sub(p.said) < answerGap {
		return
	}
	if p.fresh(now) {
		m.say(now, p, true)
		return
	}
	if p.able() {
		p.look.suspect(now)
	}
}

// heardSince tells whether a node was heard since then: its process, or its kernel.
func (m *machine) heardSince(a netip.Addr, since time.Time) bool {
	p := m.find(a.WithZone(""))
	return p != nil && (!p.beat.Before(since) || !p.answered.Before(since))
}

// lastBeat is when a beat of a node was heard last; zero: never, or it does not beat any more.
func (m *machine) lastBeat(a netip.Addr) time.Time {
	if p := m.find(a.WithZone("")); p != nil {
		return p.beat
	}
	return time.Time{}
}

// why is why the node of a holder that is watched would not be found to be gone; empty if it would.
func (m *machine) why(now time.Time, holder netip.Addr) string {
	p := m.find(holder.WithZone(""))
	switch {
	case p == nil || !p.member(now):
		return "the holder is not heard as a member with vrrp.detector fast"
	case !p.beating() || p.heard < fewBeats:
		return "no beat of the holder arrives"
	case p.mute || p.answered.IsZero():
		return "the host of the holder answers no echo request: let ICMP in there"
	case len(m.others(now, p)) == 0 && !m.witness.IsValid():
		return "no third member is heard, and " + cmp.Or(m.lacks, "no vrrp.detectorWitness is set")
	}
	return ""
}

func (m *machine) say(now time.Time, p *peer, there bool) {
	p.said = now
	m.act(send{Message{Type: Word, About: p.address, There: there}})
}

func (m *machine) echoed(now time.Time, e Echoed) {
	m.delays.took.Note(now, min(e.Took, peaceTime))
	from := e.From.WithZone("")
	for _, p := range m.peers {
		if from == m.witness && p.look.late && !e.At.Before(p.look.began) {
			p.look.witnessed = true
		}
		if p.address == from && p.answer(e.At) {
			m.say(now, p, true)
		}
	}
}

// others are the members that can say something about a node.
func (m *machine) others(now time.Time, about *peer) (list []*peer) {
	for _, p := range m.peers {
		if p != about && p.member(now) {
			list = append(list, p)
		}
	}
	return list
}

func (m *machine) deadline(now time.Time) (next time.Time) {
	if m.own.on {
		next = m.own.due
	}
	for _, p := range m.peers {
		next = sooner(next, m.peerDue(now, p))
	}
	return next
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// sooner is the earlier of two times, where zero means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
