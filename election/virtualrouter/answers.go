package virtualrouter

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

const (
	// firstUnanswered and mostUnanswered bound for how long a holder that answered nobody comes last: it takes twice as long each time.
	firstUnanswered, mostUnanswered = 10 * time.Second, 5 * time.Minute
)

// unanswered is what follows when members say that this node, as the holder, does not answer for the address. It is pure.
type unanswered struct {
	reason string
	wait   time.Duration
	until  time.Time // comes last until then, and as long as members say so
}

// follow takes in which members say so now, and tells whether the fitness is another one.
func (u *unanswered) follow(now time.Time, by string) (changed bool) {
	switch {
	case by != "":
		changed = u.reason == ""
		if changed {
			u.wait = min(max(2*u.wait, firstUnanswered), mostUnanswered)
			u.reason = "members ask for the address and get no answer from here: " + by
		}
		u.until = now.Add(u.wait)
	case u.reason != "" && !now.Before(u.until):
		u.reason, u.until = "", time.Time{}
		return true
	}
	return changed
}

// worsen is the fitness f meanwhile.
func (u *unanswered) worsen(f election.Fitness, base uint8) election.Fitness {
	if u.reason == "" || f.Out {
		return f
	}
	if f.Wait || good(f, effective(base, f)) {
		f.Reason, f.Code = u.reason, code.Unanswered
	}
	f.Less = 255
	return f
}

// SetUnanswered implements election.Questioner.
func (e *Elector) SetUnanswered(holder netip.Addr) { newest(e.unanswered, holder) }

// judgeAnswers makes a holder come last whose members get no answer. What is broken stays broken when it has given the address away, so it comes
// last for a while.
func (m *machine) judgeAnswers() {
	if m.x == nil {
		return
	}
	by := ""
	if m.state == election.Active {
		for _, o := range m.x.members.Unanswered() {
			if by != "" {
				by += ", "
			}
			by += named(election.Node{Address: o.Address, Name: o.Peer.Node})
		}
	}
	if !m.fitness.unanswered.follow(m.now, by) {
		return
	}
	if by != "" {
		m.say(slog.LevelError, "members get no answer when they ask for the address: is ARP off here, or arp_ignore set?", "members", by)
	}
	m.agenda.first(m.fit)
}
