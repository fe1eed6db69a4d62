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

// answering finds out whether the holder, another node, answers when it is asked for the addresses. It goes by the questions that are asked
// anyway, and asks more where one is left unanswered. It is pure.
type answering struct {
	holder netip.Addr
	ever   bool      // an answer was heard in this term: there are links on which none is
	asked  int       // questions since the last answer
	next   time.Time // the next question; zero: none is due
	silent bool      // the holder does not answer
}

// follow takes over who holds the addresses; not valid for this node, and for nobody.
func (a *answering) follow(holder netip.Addr) {
	if holder != a.holder {
		a.holder, a.asked, a.next, a.silent = holder, 0, time.Time{}, false
	}
}

// ask takes in that the addresses were asked for, or that the question has not left: the holder knows nothing of that one.
func (a *answering) ask(now time.Time, left bool) {
	if !a.holder.IsValid() || !a.ever {
		return
	}
	if left {
		a.asked++
	}
	switch {
	case a.asked >= askHolderTimes:
		a.silent, a.next = true, time.Time{}
	default:
		a.next = now.Add(askHolderEvery)
	}
}

// answer takes in that somebody has spoken for an address.
func (a *answering) answer() { a.ever, a.asked, a.next, a.silent = true, 0, time.Time{}, false }

// due tells whether a question is due.
func (a *answering) due(now time.Time) bool { return !a.next.IsZero() && !now.Before(a.next) }

// who is the holder that does not answer; not valid for none.
func (a *answering) who() netip.Addr {
	if a.silent {
		return a.holder
	}
	return netip.Addr{}
}

// followHolder takes over who holds the addresses: a member that speaks keepvip's protocol, which can be told that it does not answer.
func (d *detector) followHolder(s election.Status) {
	var holder netip.Addr
	if s.State == election.Backup {
		for _, m := range s.Members {
			if m.Address == s.Holder && m.Speaks() && !m.Self && m.State != election.Silent {
				holder = m.Address
			}
		}
	}
	d.answers.follow(holder)
	d.tellAnswers()
}

// tellAnswers lets the elector know whether the holder answers.
func (d *detector) tellAnswers() {
	if e, ok := d.elector.(election.Questioner); ok && d.told != d.answers.who() {
		d.told = d.answers.who()
		e.SetUnanswered(d.told)
	}
}
