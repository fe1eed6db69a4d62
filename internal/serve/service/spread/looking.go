package spread

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members/slots"
)

// lookAtMembers has the services of the members that could get connections be looked at, and those of this node. The holder sends connections there, so it
// looks more often.
func (v *server) lookAtMembers(now time.Time, me self) {
	services := map[netip.AddrPort]time.Duration{}
	for _, t := range v.kernel.tables {
		if t.ends() {
			continue
		}
		for _, r := range t.known {
			every := lookSeldom
			switch {
			case r.Condition == slots.Dead || r.Weight == 0:
				continue
			case r.Self:
				every = lookOwn
			case me.gets:
				every = lookOften
			}
			for _, at := range t.services(r.at, me.place.Name) {
				services[at] = every
			}
		}
	}
	v.reach.want(services)
	v.reach.start(now, me.place)
}

// lookAtBackends has all services of the backends be looked at: what a backend is asked is about one of them.
func (v *server) lookAtBackends(now time.Time, rows []row, holder bool) {
	services, every := map[netip.AddrPort]time.Duration{}, lookSeldom
	if holder {
		every = lookOften
	}
	for _, t := range v.kernel.tables {
		for _, r := range rows {
			if t.ends() || r.Condition == slots.Dead || r.Weight == 0 {
				continue
			}
			for _, at := range t.services(r.at, v.term.Place.Name) {
				services[at] = every
			}
		}
	}
	v.reach.want(services)
	v.reach.start(now, v.term.Place)
}

// looked takes in a look at a service, and tells whether anything is to be done about it.
func (v *server) looked(now time.Time, l looked) bool {
	news, turned := v.reach.take(now, l)
	if turned {
		v.noteReach(now, l.at)
	}
	return news
}

// noteReach logs that a service is not reached any more, or again.
func (v *server) noteReach(now time.Time, at netip.AddrPort) {
	text, why := "a service is reached again", v.reach.all[at].why
	if why != "" {
		text = "a service is not reached from here: it gets no new connections while another one is"
	}
	left, ok := v.lines.May(now, text, mostLines)
	switch {
	case !ok:
	case why == "":
		v.log.Info(text, election.LeftOut([]any{"service", at}, left)...)
	default:
		v.log.Warn(text, election.LeftOut([]any{"code", string(code.NotReached), "service", at, "reason", why}, left)...)
	}
}

// ownRefusal is why connections to this node's own service of a table come nowhere; empty: they arrive, or nobody knows yet.
func (v *server) ownRefusal(t *table, me self) string {
	if why := v.reach.why(t.portSet, me.row(true, ""), me.place.Name); why != "" {
		return "its own service does not take connections: " + why
	}
	return ""
}

// codeOwn gives this node's row of a table the code of its refusal.
func (t *table) codeOwn() {
	for i := range t.known {
		if r := &t.known[i]; r.Self && t.refuses != "" && r.Why == t.refuses {
			r.code = code.NotReached
		}
	}
}

// judged are rows of a table as this node sees their services. What ends goes on where it is.
func (v *server) judged(t *table, rows []row) []row {
	if t.ends() {
		return append([]row(nil), rows...)
	}
	return v.reach.judge(t.portSet, rows, v.term.Place.Name)
}
