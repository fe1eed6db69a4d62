package members

import (
	"net/netip"
	"time"
)

// A deaf node receives nothing, and what it sends arrives: the receiving side of its NIC hangs, or a switch or a filter drops what is for it. It
// would take the address, because it hears no holder, and would keep it. Nobody hears a deaf node's silence, so it has to look by itself.
//
// Silence alone proves nothing: a first node, and one whose others are dead, hear nobody either. A node counts as deaf when hosts of the link
// that answer its questions as a rule, two at least, all stop at the same time, and nothing else arrives. That is no proof: both may have died.
// So a deaf node comes last in the election, and a holder goes on where nobody else serves. A Backup takes nothing as long as nothing at all
// arrives ([Hearing.Cut]): who asks for the address, as a client does, is heard.
//
// A node that was deaf before it knew two such hosts cannot find out. It counts as unsure: nothing was ever heard, or nothing after its first
// moments, and no host that was heard then answers any more. It says so, and those that hear each other judge ([PeerState], HearsNobody). As an
// Active it comes last; nothing else changes for a node that is really alone.

// QuestionGap is the least time between two questions to one host, whichever Virtual Router of the node asks: a later one does not leave, and the answer
// to the one before stands for its own.
const QuestionGap = 30 * time.Millisecond

const (
	// roundGap is the time between two questions to the same host while nothing is heard, and for how long an answer is waited for. See Pace.Gap.
	roundGap = 40 * time.Millisecond
	// deafTime is how long each witness leaves questions unanswered, four of them or, with a shorter Pace.Gap, more: packets are lost, and a taker must
	// not be.
	deafTime = 4 * roundGap
	// startRounds is how often a node that hears nobody says at its start that it is there, and startGap the time in between.
	startRounds, startGap = 5, 70 * time.Millisecond
	// askDeafEvery is the time between two questions of a node that is deaf.
	askDeafEvery = 250 * time.Millisecond
	// firstMoments is for how long after the first sound a node may be unsure: by then those that it hears have answered.
	firstMoments = 2 * time.Second
)

// Hearing judges whether this node is deaf, from all that it hears. It is pure, and belongs to one goroutine. The zero Hearing has heard nothing,
// and is not deaf.
type Hearing struct {
	hosts hosts
	heard time.Time // when anything was heard last; zero: never
	first time.Time // and when first
	since time.Time // since when something is heard again by a node that was deaf; zero: nothing is

	rounds int       // how often questions were asked in this silence
	began  time.Time // when the first of them was asked
	back   time.Time // when the first sound came after that, while deaf; zero: none has
	turn   int       // of the hosts
	deaf   bool

	unsure    bool
	comesLast bool
	sure      time.Time // since when it is not unsure
}

// Pace is what a node's part in the election makes of silence.
type Pace struct {
	Quiet  time.Duration // after so long without a sound the node asks whether it hears
	Usual  bool          // such a silence is nothing unusual: one question will do at first, and may wait for the next Step
	Gap    time.Duration // between two questions to the same host while nothing is heard; 0: 40 ms
	Settle time.Duration // for how long a node that was deaf has to hear before it is not deaf any more
	Meet   time.Duration // within which a node that hears for the first time hears of another holder
}

// Question is what to ask, in one round. The zero Question is none.
type Question struct {
	To    []netip.Addr
	Wide  bool // ask the neighbours of the kernel, too: any answer will do
	Named bool // say who asks, so that others get to know this node; and ask the routers of the link
}

// None tells that nothing is to be asked.
func (q Question) None() bool { return len(q.To) == 0 && !q.Named }

// Hear takes in that an advertisement or a message of a host has arrived.
func (h *Hearing) Hear(from netip.Addr, at time.Time) {
	h.Sound(at)
	if w := h.hosts.know(from, h.heard); w != nil {
		w.word = later(w.word, at)
	}
}

// Spoken takes in a word of ARP or neighbour discovery: of which address, from which MAC (zero: not known), and when. It answers a question, if the
// host was asked. Answered is when the host answered a question of whichever Virtual Router of this node; zero: it has not.
func (h *Hearing) Spoken(from netip.Addr, mac [6]byte, at, answered time.Time) {
	h.Sound(at)
	w := h.hosts.meetAt(from, mac, h.heard)
	if w == nil {
		return
	}
	w.word = later(w.word, at)
	if !w.asked.IsZero() {
		answered = later(answered, at)
	}
	if answered.IsZero() {
		return
	}
	w.answered = later(w.answered, answered)
	if answered.After(w.asked.Add(-QuestionGap)) {
		w.missed = 0
	}
}

// Sound takes in that something has arrived, of whomever.
func (h *Hearing) Sound(at time.Time) {
	h.heard = later(h.heard, at)
	if h.first.IsZero() {
		h.first = at
	}
	if h.deaf && h.since.IsZero() {
		h.since = at
	}
	if h.deaf && h.back.IsZero() && at.After(h.began) {
		h.back = at
	}
}

// Heard is when anything has arrived last; zero: never.
func (h *Hearing) Heard() time.Time { return h.heard }

// Share takes in that something has arrived for another Virtual Router of this node, on the same link.
func (h *Hearing) Share(at time.Time) {
	if at.After(h.heard) {
		h.Sound(at)
	}
}

// Deaf tells what Step has found.
func (h *Hearing) Deaf() bool { return h.deaf }

// Unsure tells that Step has found out nothing yet: nothing arrives, and that may be because this node is alone.
func (h *Hearing) Unsure() bool { return h.unsure }

// Last tells that this node, as an Active, is to come last: it is unsure, or was until a moment ago, and may not have heard of another holder yet.
func (h *Hearing) Last() bool { return h.comesLast }

// MetHolder takes in that the holder has passed the address on to this node: there is no other one to hear of.
func (h *Hearing) MetHolder() { h.comesLast = h.unsure }

// Asked is when the last question was asked; zero for never.
func (h *Hearing) Asked() time.Time { return h.hosts.asked }

// Step judges, and returns what is to be asked now. What has arrived is to be heard before.
func (h *Hearing) Step(now time.Time, p Pace) Question {
	q := h.step(now, p)
	switch {
	case h.unsure:
		h.comesLast, h.sure = true, now
	case h.comesLast && now.Sub(h.sure) >= p.Meet:
		h.comesLast = false
	}
	return q
}

func (h *Hearing) step(now time.Time, p Pace) Question {
	if h.heard.IsZero() {
		return h.begin(now)
	}
	if now.Sub(h.heard) < p.Quiet && !h.silent() {
		return h.well(now, p)
	}
	h.since = time.Time{}
	if now.Sub(h.hosts.asked) < h.gap(p) {
		return Question{}
	}
	to := h.hosts.trusted(h.heard)
	few := len(to) < leastWitnesses
	if few {
		h.deaf, to = false, h.early()
	}
	if len(to) == 0 {
		h.rounds = 0
		return h.hosts.upkeep(now, h.heard)
	}
	if h.rounds >= int(deafTime/p.gap()) {
		h.deaf, h.unsure = !few, few
	}
	if h.unsure {
		return h.hosts.upkeep(now, h.heard)
	}
	if h.rounds == 0 {
		h.began, h.back = now, time.Time{}
	}
	h.rounds++
	if h.rounds == 1 && p.Usual { // as a rule it answers
		h.turn++
		return h.hosts.ask(now, false, to[h.turn%len(to)])
	}
	return h.hosts.ask(now, true, to...)
}

// begin is a Step of a node that has heard nothing yet. Those that start with it have to hear of it, and answer, before it takes the address.
func (h *Hearing) begin(now time.Time) Question {
	h.unsure = true
	if h.rounds >= startRounds {
		return h.hosts.upkeep(now, h.heard)
	}
	if now.Sub(h.hosts.asked) < startGap {
		return Question{}
	}
	h.rounds++
	q := h.hosts.upkeep(now, h.heard)
	h.hosts.asked, q.Named = now, true
	return q
}

// silent tells that nothing has arrived since the first question of a silence. A node that takes over has more patience from then on, and hears
// nothing for all that. What had arrived before for another Virtual Router, and is heard of later, is no answer.
func (h *Hearing) silent() bool { return h.rounds > 0 && !h.heard.After(h.began) }

// Undecided tells that nothing has arrived from that time on, though hosts that answer as a rule were asked: this node may be deaf, and the next questions
// tell. It is over after deafTime.
func (h *Hearing) Undecided(since time.Time) bool {
	return h.silent() && !h.deaf && !h.unsure && h.heard.Before(since) && !h.hosts.few(h.heard)
}

// Cut tells that this node is deaf, and that nothing at all has arrived since it asked for the first time, or so lately that it may not have heard of
// another holder yet.
func (h *Hearing) Cut(now time.Time, p Pace) bool {
	return h.deaf && (h.back.IsZero() || now.Sub(h.back) < p.Meet)
}

// well is a Step of a node that hears something. A deaf one goes on asking until it has heard for a while: by then it has heard of another
// holder, too.
func (h *Hearing) well(now time.Time, p Pace) Question {
	if h.deaf && now.Sub(h.since) < p.Settle {
		if now.Sub(h.hosts.asked) < askDeafEvery {
			return Question{}
		}
		return h.hosts.ask(now, true, h.hosts.trusted(h.heard)...)
	}
	if h.rounds > 0 {
		h.hosts.drop()
	}
	h.deaf, h.unsure, h.since, h.rounds = false, false, time.Time{}, 0
	return h.hosts.upkeep(now, h.heard)
}

// early are all hosts that were heard, if nothing was heard but in the first moments: none of them need have answered yet.
func (h *Hearing) early() (list []netip.Addr) {
	if h.heard.Sub(h.first) >= firstMoments {
		return nil
	}
	for _, w := range h.hosts.list {
		list = append(list, w.address)
	}
	return list
}

// Deadline is when Step has something to find out; zero for never.
func (h *Hearing) Deadline(p Pace) time.Time {
	next := h.silenceDue(p)
	if h.comesLast && !h.unsure {
		next = sooner(next, h.sure.Add(p.Meet))
	}
	return next
}

func (h *Hearing) silenceDue(p Pace) time.Time {
	switch {
	case h.heard.IsZero() && h.rounds > 0 && h.rounds < startRounds:
		return h.hosts.asked.Add(startGap)
	case h.heard.IsZero(), h.unsure, h.hosts.few(h.heard) && len(h.early()) == 0:
		return time.Time{}
	case p.Usual && h.rounds == 0:
		return time.Time{}
	case h.deaf && !h.since.IsZero():
		return sooner(h.since.Add(p.Settle), h.hosts.asked.Add(askDeafEvery))
	}
	return later(h.heard.Add(p.Quiet), h.hosts.asked.Add(h.gap(p)))
}
