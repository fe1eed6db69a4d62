package spread

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/slots"
	"github.com/keepvip/keepvip/internal/spreadtables"
)

// reachLimit is for how long an answer of a backend's host is waited for. As those of members, so many in a row are left without one by a dead host.
const reachLimit = 250 * time.Millisecond

// backend is a server as this node knows it.
type backend struct {
	Backend
	health Health
	known  bool // it was asked once
	cancel context.CancelFunc
	asking bool
	next   time.Time // when its host is asked again
	missed int       // questions in a row that its host left without an answer
	dead   bool      // until it is healthy, or answers
}

// news is something new about a backend.
type news struct {
	about   *backend
	health  *Health // nil: its host was asked whether it is there
	reached bool
}

// watchBackends goes on with the backends that stay, and begins with those that are new. One that is asked otherwise from now on, or has another
// weight, is what it was until the first answer.
func (v *server) watchBackends(list []Backend) {
	before := v.backends
	v.backends = nil
	for _, b := range list {
		if i := slices.IndexFunc(before, func(o *backend) bool { return o.ID == b.ID }); i >= 0 {
			v.backends = append(v.backends, before[i])
			before = slices.Delete(before, i, i+1)
			continue
		}
		one := v.watch(b)
		if i := slices.IndexFunc(before, one.same); i >= 0 && b.Watch != nil {
			one.known, one.health, one.dead = before[i].known, before[i].health, before[i].dead
		}
		v.backends = append(v.backends, one)
	}
	for _, gone := range before {
		gone.cancel()
	}
}

// same tells whether two are one server.
func (b *backend) same(o *backend) bool {
	return b.Port == o.Port && slices.Equal(b.Addresses, o.Addresses)
}

func (v *server) watch(b Backend) *backend {
	ctx, cancel := context.WithCancel(v.ctx)
	one := &backend{Backend: b, cancel: cancel}
	if b.Watch == nil {
		one.known, one.health.Good = true, true
		return one
	}
	v.jobs.Go(func() {
		b.Watch(ctx, func(h Health) { v.tellOf(ctx, news{about: one, health: &h}) })
	})
	return one
}

func (v *server) tellOf(ctx context.Context, r news) {
	select {
	case v.news <- r:
	case <-ctx.Done():
	}
}

// reported takes in what is new about a backend.
func (v *server) reported(now time.Time, r news) {
	b := r.about
	switch {
	case r.health != nil:
		b.known, b.health = true, *r.health
		if b.health.Good {
			b.missed, b.dead = 0, false
		}
	case r.reached:
		b.asking, b.missed, b.dead, b.next = false, 0, false, now.Add(askLater)
	default:
		b.asking = false
		b.missed++
		b.dead = b.dead || b.missed >= unanswered && !b.health.Good
	}
}

// reach asks the hosts of unhealthy backends whether they are there: connections to one that is not are lost.
func (v *server) reach(now time.Time) {
	for _, b := range v.backends {
		port := b.target(v.cfg.Ports)
		if !b.known || b.health.Good || b.asking || b.dead || port == 0 || now.Before(b.next) {
			continue
		}
		b.asking = true
		at := netip.AddrPortFrom(b.Addresses[0], port)
		v.jobs.Go(func() {
			ctx, cancel := context.WithTimeout(v.ctx, reachLimit)
			defer cancel()
			err := v.host.Reach(ctx, at)
			v.tellOf(v.ctx, news{about: b, reached: err == nil})
		})
	}
}

// target is where the service of TCP is; 0: there is none.
func (b *backend) target(ports []Port) uint16 {
	i := slices.IndexFunc(ports, func(p Port) bool { return p.Protocol != udp })
	switch {
	case i < 0:
		return 0
	case b.Port != 0:
		return b.Port
	}
	return ports[i].Target
}

func (b *backend) row() row {
	out := row{
		Address: b.Addresses[0], Weight: b.Weight, Condition: slots.Fit,
		at: spreadtables.MemberAt{Addresses: b.Addresses, Target: b.Port},
	}
	switch {
	case !b.known:
		out.Condition, out.Why = slots.Keeps, "it was not asked yet"
	case b.dead:
		out.Condition, out.Why = slots.Dead, "its host does not answer"
	case !b.health.Good:
		out.Condition, out.Why = slots.Keeps, b.health.Why
	case b.Weight == 0:
		out.Why = "its weight is 0"
	}
	return out
}

var errNoBackend = errors.New("no backend is healthy")

// balance has the kernel follow the backends. Each node asks them by itself, so that all have the same table, as far as they find the same.
func (v *server) balance(now time.Time) {
	v.reach(now)
	me := self{address: v.place.Source.WithZone(""), own: v.host.Own(v.place, v.cfg.Addresses)}
	for _, m := range v.elector.Members() {
		if m.Self {
			v.holds, v.node = m.State == election.Active, m.Node
		}
	}
	var rows []row
	for _, b := range v.backends[:min(len(v.backends), slots.Most)] {
		rows = append(rows, b.row())
	}
	changed := v.problem != "" || v.showed.Before(v.settled)
	var errs []error
	for _, l := range v.lanes {
		changed = changed || !slices.EqualFunc(l.rows, rows, row.same)
		errs = append(errs, v.serve(now, l, slices.Clone(rows), me.own))
	}
	v.lookAtWay(now)
	v.count(now)
	unknown := slices.ContainsFunc(v.backends, func(b *backend) bool { return !b.known })
	takes := slices.ContainsFunc(rows, func(r row) bool { return r.Condition == slots.Fit && r.Weight > 0 })
	if !takes && !unknown {
		errs = append(errs, errNoBackend)
	}
	if err := errors.Join(errs...); err != nil {
		v.fail(err)
		return
	}
	v.recover()
	if changed || now.Sub(v.showed) >= showEvery {
		v.showed = now
		v.show()
	}
}
