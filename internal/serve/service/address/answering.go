package address

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
)

const (
	// askHolderEvery is the time between two questions to a holder that has not answered, and askHolderTimes how many it leaves unanswered
	// before that is said: packets are lost.
	askHolderEvery = 250 * time.Millisecond
	askHolderTimes = 8
)

// askNewHolder are the questions to a new holder until one is answered, counted from the moment when it is heard of. They are between the announcements of
// a takeover, as one for IPv6 looks like an answer. So for IPv6 an answer to any other question proves nothing.
var askNewHolder = []time.Duration{400 * time.Millisecond, time.Second, 2 * time.Second}

// answering finds out whether the holder, another node, answers when it is asked for the addresses. It goes by the questions that are asked
// anyway, and asks more where one is left unanswered. It is pure.
type answering struct {
	holder netip.Addr
	since  time.Time // when it was heard of
	ever   bool      // a question was answered in this term: there are links on which none is
	last   time.Time // when the last question has left
	early  time.Time // when the last of askNewHolder that has left was due
	asked  int       // questions since the last answer, or since so many were unanswered
	next   time.Time // the next question; zero: none is due
	silent int       // how many times in a row so many questions were unanswered; 0: the holder answers
}

// follow takes over who holds the addresses; not valid for this node, and for nobody. A new holder that never answers is found out where the one before did
// answer. Two that do not, one after the other, prove nothing: a switch may have begun to drop questions without a sender. So the second one has to answer
// once before it is blamed.
func (a *answering) follow(now time.Time, holder netip.Addr) {
	if holder == a.holder {
		return
	}
	*a = answering{holder: holder, since: now, ever: a.ever && a.silent == 0}
	if holder.IsValid() {
		a.next = a.firstAfter(now)
	}
}

// firstAfter is when a new holder is asked next; zero: not any more.
func (a *answering) firstAfter(now time.Time) time.Time {
	for _, d := range askNewHolder {
		if at := a.since.Add(d); at.After(now) {
			return at
		}
	}
	return time.Time{}
}

// ask takes in that the addresses were asked for, or that the question has not left: the holder knows nothing of that one.
func (a *answering) ask(now time.Time, left bool) {
	if !a.holder.IsValid() {
		return
	}
	if left {
		a.last = now
		if !a.ever && a.due(now) {
			a.early = a.next // and not now: one that is late is not between the announcements
		}
	}
	if !a.ever {
		a.next = a.firstAfter(now)
		return
	}
	if left {
		a.asked++
	}
	a.next = now.Add(askHolderEvery)
	if a.asked >= askHolderTimes {
		a.silent, a.asked, a.next = a.silent+1, 0, time.Time{}
	}
}

// claim takes in that somebody has spoken for an address. A holder that announces, and has never answered, may be on a link on which nobody does.
func (a *answering) claim(now time.Time, c Claim) {
	asked := a.last
	if !c.Answer {
		asked = a.early
	}
	a.ever = a.ever || (c.Answer || c.Address.Is6()) && !asked.IsZero() && now.Sub(asked) < askHolderEvery
	if a.ever {
		a.asked, a.next, a.silent = 0, time.Time{}, 0
	}
}

// due tells whether a question is due.
func (a *answering) due(now time.Time) bool { return !a.next.IsZero() && !now.Before(a.next) }

// who is the holder that does not answer; not valid for none.
func (a *answering) who() netip.Addr {
	if a.silent > 0 {
		return a.holder
	}
	return netip.Addr{}
}

// followHolder takes over who holds the addresses: a member that speaks keepvip's protocol, which can be told that it does not answer.
func (d *detector) followHolder(now time.Time, s election.Status) {
	var holder netip.Addr
	if s.State == election.Backup {
		for _, m := range s.Members {
			if m.Address == s.Holder && m.Speaks() && !m.Self && m.State != election.Silent {
				holder = m.Address
			}
		}
	}
	d.answers.follow(now, holder)
	d.tellAnswers()
}

// tellAnswers lets the elector know whether the holder answers, and each time that so many questions were unanswered again.
func (d *detector) tellAnswers() {
	who, times := d.answers.who(), d.answers.silent
	if e, ok := d.elector.(election.Questioner); ok && (d.told != who || d.toldTimes != times) {
		d.told, d.toldTimes = who, times
		e.SetUnanswered(who)
	}
}
