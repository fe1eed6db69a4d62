package spread

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/slots"
)

const (
	// lookTime bounds one look at a service. Its host's kernel answers, so a slow service is no slow answer.
	lookTime = 250 * time.Millisecond
	// lookOften is the time between two looks at the services of others by the holder, which sends connections there: four a second.
	lookOften = 250 * time.Millisecond
	// lookSeldom is the same on all other nodes. Their tables serve their own programs, and are at hand when they become the holder.
	lookSeldom = 2 * time.Second
	// lookOwn is the time between two looks at this node's own services.
	lookOwn = 500 * time.Millisecond
	// lostLooks is how many without an answer, in a row, make a failure: the first SYN may be lost. A refusal makes one immediately.
	lostLooks = 2
)

// reach is what this node has seen of the services that connections go to, from its own address: what a member says of itself cannot show that no
// packet arrives there. It belongs to the service's goroutine; each look has a goroutine of its own, for lookTime at most.
type reach struct {
	host    Host
	jobs    *jobs
	results chan looked
	all     map[netip.AddrPort]*sight
}

// sight is what is known of one service.
type sight struct {
	every   time.Duration // between two looks; 0: nobody wants to know any more
	looking bool
	next    time.Time
	lost    int
	why     string // it is not reached; empty: it is, or nobody knows yet
}

// looked is the end of one look.
type looked struct {
	at  netip.AddrPort
	err error // as that of Host.Connect
}

func newReach(host Host, jobs *jobs) reach {
	return reach{host: host, jobs: jobs, results: make(chan looked), all: map[netip.AddrPort]*sight{}}
}

// look begins the looks that are due at now. These services are looked at from now on, so often each. What was known of the others is forgotten.
func (r *reach) look(now time.Time, p instance.Place, services map[netip.AddrPort]time.Duration) {
	for at, s := range r.all {
		if s.every = services[at]; s.every == 0 && !s.looking {
			delete(r.all, at)
		}
	}
	for at, every := range services {
		if r.all[at] == nil {
			r.all[at] = &sight{every: every}
		}
	}
	for at, s := range r.all {
		if s.looking || s.every == 0 || now.Before(s.next) {
			continue
		}
		s.looking, s.next = true, now.Add(s.every)
		r.jobs.Go(func() {
			ctx, cancel := context.WithTimeout(r.jobs.ctx, lookTime)
			defer cancel()
			send(r.jobs.ctx, r.results, looked{at, r.host.Connect(ctx, p, at)})
		})
	}
}

// take takes in a look that has ended at now, and tells whether it says something else than those before, and whether the service is
// reached and was not before, or the reverse.
func (r *reach) take(now time.Time, l looked) (news, turned bool) {
	s := r.all[l.at]
	if s == nil {
		return false, false
	}
	s.looking = false
	before := s.why
	switch {
	case l.err == nil:
		s.lost, s.why = 0, ""
	case errors.Is(l.err, ErrRefused):
		s.lost, s.why = lostLooks, fmt.Sprintf("%s refuses connections", l.at)
	case errors.Is(l.err, ErrSilent):
		if s.lost++; s.lost >= lostLooks {
			s.why = fmt.Sprintf("%s does not answer", l.at)
		} else {
			s.next = now
		}
	}
	return s.why != before, (s.why == "") != (before == "")
}

// due is when look has something to do; the zero Time: never.
func (r *reach) due() (next time.Time) {
	for _, s := range r.all {
		if s.every > 0 && !s.looking && (next.IsZero() || s.next.Before(next)) {
			next = s.next
		}
	}
	return next
}

// why is why connections of a row to the ports come nowhere, as seen from here; empty: they arrive, or nobody knows yet.
func (r *reach) why(p portSet, row row, place instance.Place) string {
	for _, at := range p.services(row, place) {
		if s := r.all[at]; s != nil && s.why != "" {
			return s.why
		}
	}
	return ""
}

// ownRefusal is why connections to this node's own service of a table come nowhere; empty: they arrive, or nobody knows yet.
func (r *reach) ownRefusal(t *table, me self) string {
	if why := r.why(t.portSet, me.row(true, ""), me.place); why != "" {
		return "its own service does not take connections: " + why
	}
	return ""
}

// services are where connections of TCP to the ports go at a member. All of these count: a connection of either family may come.
func (p portSet) services(m row, place instance.Place) (out []netip.AddrPort) {
	for _, port := range p.ports {
		target := port.Target
		if m.Target != 0 {
			target = m.Target
		}
		for _, a := range m.Addresses {
			if at := netip.AddrPortFrom(place.Scoped(a), target); port.TCP() && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// judge gives members no new connections that do not reach them from here. Where nobody would be left who gets any, all count as before: what is seen from
// here decides who serves, and never whether anybody does. What ends goes on where it is.
func (r *reach) judge(t *table, rows []row, place instance.Place) []row {
	judged, marked := slices.Clone(rows), false
	if t.ends() {
		return judged
	}
	for i := range judged {
		o := &judged[i]
		why := r.why(t.portSet, *o, place)
		if o.Self || why == "" || !o.Owns() {
			continue
		}
		marked, o.Condition, o.Why, o.code = true, slots.Keeps, "not reached from here: "+why, code.NotReached
	}
	if !marked || slices.ContainsFunc(judged, row.Owns) {
		return judged
	}
	for i := range judged {
		if o := &judged[i]; o.code == code.NotReached {
			o.Condition, o.Why = slots.Fit, o.Why+"; nobody is, so it gets connections all the same"
		}
	}
	return judged
}
