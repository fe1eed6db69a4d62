package spread

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/subscription"
)

// server joins the parts of a Service: it gives the members or backends to the kernel, and says to members, followers and operators what came of it. It
// calls the parts, and none of them calls it. Only the service's goroutine uses it, and all of the parts.
type server struct {
	cfg  *entry
	host Host
	log  *slog.Logger
	out  *Service
	jobs *jobs

	roster    roster
	backends  backends // in place of the members, if there are any
	kernel    kernel
	counter   counter
	followers followers
	remaining remaining
	reach     reach
	newcomers newcomers
	notes     notes
	teller    teller

	term     instance.Term
	elector  election.Spreader // nil between terms
	spreader *spreader         // of the term
	changed  <-chan struct{}   // the elector's members have
	answers  chan answer
	settled  time.Time // when the members are known, of this term

	last    time.Time // of the newest step
	showed  time.Time
	problem string // why nothing is spread; empty: it is
	node    string // this node's name
	closed  bool
}

func newServer(vip config.VIP, reloaded bool, host Host, log *slog.Logger, out *Service) *server {
	jobs := newJobs()
	v := &server{
		host: host, log: log, out: out, jobs: jobs, answers: make(chan answer),
		backends: backends{host: host, jobs: jobs, reports: make(chan func(now time.Time))},
		kernel:   kernel{host: host, log: log, holderHasAll: reloaded},
		reach:    newReach(host, jobs),
		notes:    notes{log: log},
		teller:   teller{host: host, log: log, jobs: jobs},
		counter:  counter{log: log, jobs: jobs, results: make(chan counts), busy: &out.busy},
	}
	v.counter.elsewhere = func(since time.Time, direct map[netip.Addr]int) bool {
		waits, doubted := v.followers.left(since, direct)
		v.notes.doubt(since, doubted)
		return waits || v.roster.translated()
	}
	v.configure(vip)
	return v
}

// configure takes over a configuration. Tables of ports that go on are kept.
func (v *server) configure(vip config.VIP) {
	now, cfg := time.Now(), entryOf(vip)
	if len(cfg.ports) == 0 {
		cfg = v.cfg.ended()
	} else {
		v.backends.configure(v.host.Backends(vip))
	}
	v.cfg = cfg
	v.out.masquerades.Store(cfg.masquerades())
	v.followers.serve(v.host.Followers(), cfg.group())
	v.roster.interval, v.roster.each = cfg.VRRP.AdvertisementInterval, cfg.Local()
	v.roster.list(now, cfg.Spread.Members)
	gone := v.kernel.configure(now, cfg, v.elector != nil)
	if len(cfg.Spread.Backends) > 0 { // it is no member any more
		v.withdraw()
	}
	if v.elector != nil {
		v.step(now)
	}
	for _, t := range gone { // not before what takes its place is there
		v.kernel.shut(t)
	}
	v.show()
}

// begin opens a term. What an earlier run has left goes on until the members are known.
func (v *server) begin(t instance.Term, s *spreader, now time.Time) {
	v.term = t
	self := t.Place.Source.WithZone("")
	v.settled = now.Add(v.cfg.settle())
	v.move(now, t.Place)
	v.roster.begin(self, v.settled)
	v.newcomers.begin(now)
	if s == nil {
		v.fail(errNoSpreader)
		return
	}
	v.spreader, v.elector = s, t.Elector.(election.Spreader)
	v.changed = v.elector.MembersChanged()
	v.counter.begin(v.settled)
	v.kernel.begin(t.Place)
	v.show()
}

// move follows what has, or may have, changed of the place.
func (v *server) move(now time.Time, p instance.Place) {
	v.term.Place = p
	v.kernel.forwarding.sources = nil
	v.roster.attach(now, attachment{p.Index, p.Stay})
}

// withdraw has this node say no more that it spreads.
func (v *server) withdraw() {
	v.followers.withdraw()
	if v.spreader != nil {
		v.spreader.say(nil)
	}
}

func (v *server) end() {
	v.withdraw()
	v.elector, v.changed, v.spreader, v.term, v.problem = nil, nil, nil, instance.Term{}, ""
	v.counter.end()
	v.show()
}

// next is when something is due; the zero Time: never.
func (v *server) next() time.Time {
	switch {
	case v.elector == nil:
		return time.Time{}
	case v.last.Before(v.settled):
		return v.settled
	}
	next := v.roster.next(v.last)
	if look := v.reach.due(); !look.IsZero() && look.Before(next) {
		return look
	}
	return next
}

// step looks at the members or backends, and has the kernel and the other members follow.
func (v *server) step(now time.Time) {
	if v.elector == nil || now.Before(v.settled) {
		return
	}
	v.last = now
	if len(v.cfg.Spread.Backends) > 0 {
		v.stepBackends(now)
		return
	}
	v.stepMembers(now)
}

func (v *server) stepMembers(now time.Time) {
	list := v.elector.Members()
	me, err := v.self(list)
	v.roster.become(me.address)
	v.roster.hear(now, list)
	proved := len(v.cfg.Spread.Members) > 0 || v.host.Keyed()
	v.notes.newcomers(now, v.newcomers.look(now, v.roster.all, proved))
	v.roster.declareDead()
	v.ask(now)
	if err != nil {
		v.withdraw() // the others would go by another table
		v.count(now)
		v.fail(err)
		return
	}
	healthy, why := healthOf(v.term, v.kernel.tables)
	var leftOut []row
	for _, t := range v.kernel.tables {
		fit, why := healthy[t.check], why
		t.refuses = v.reach.ownRefusal(t, me)
		switch {
		case t.ends():
			fit, why = false, takesNone
		case fit && t.refuses != "":
			fit, why = false, t.refuses
		}
		t.known, leftOut = plan(t.portSet, &v.roster, me, fit, why)
		t.codeOwn()
	}
	v.reach.look(now, me.place, servicesOfMembers(v.kernel.tables, me))
	// What this node and others are not good for any more is said first: the kernel may take long for its tables.
	v.followers.tell(func() *subscription.Report { return reportOf(time.Now(), v.kernel.tables, &v.roster, v.node) })
	if !me.witness {
		v.spreader.sayUnhealthy(ownSpread(v.kernel.tables, me, healthy))
	}
	changed, err := v.kernel.serve(now, me, func(t *table) []row { return v.reach.judge(t, t.known, me.place) })
	if err == nil && me.gets {
		v.askClients()
	}
	if err == nil && !v.cfg.masquerades() { // the kernel's part does it otherwise
		v.teller.endOwn(v.kernel.tables)
	}
	v.kernel.holderHasAll = v.roster.holderHasAll
	v.remaining = v.remaining.next(now, v.kernel.tables, v.cfg.translates(me))
	v.count(now)
	v.notes.noRoom(now, leftOut)
	if err != nil {
		v.fail(err)
		return
	}
	v.say(me, healthy)
	if lack := v.kernel.lackHolder(me, v.kernel.tables...); len(lack) > 0 && !now.Before(v.roster.begun) {
		v.fail(fmt.Errorf("members that have not heard how this node spreads get no new connections: %s: let the members' port in there, and give all nodes the same spread.via", strings.Join(lack, " and ")))
	} else {
		v.succeed(now, changed)
	}
	if v.kernel.finish(now, v.roster.connected) {
		v.show()
	}
}

// stepBackends is for servers without keepvip. Each node asks them by itself, so that all have the same table, as far as they find the same.
func (v *server) stepBackends(now time.Time) {
	v.remaining = remaining{} // backends do not ask
	v.backends.reach(now, v.term.Place, v.cfg.ports)
	me := self{place: v.term.Place, address: v.term.Place.Source.WithZone(""), own: v.host.Own(v.term.Place, v.cfg.addresses)}
	for _, m := range v.elector.Members() {
		if m.Self {
			me.holder, v.node = m.State == election.Active, m.Node
		}
	}
	rows := v.backends.rows()
	v.reach.look(now, me.place, servicesOfBackends(v.kernel.tables, rows, me.place, me.holder))
	changed, err := v.kernel.serve(now, me, func(t *table) []row { return v.reach.judge(t, rows, me.place) })
	v.count(now)
	if err := errors.Join(err, v.backends.none(rows)); err != nil {
		v.fail(err)
		return
	}
	v.succeed(now, changed)
}

// self is this node as a member.
func (v *server) self(list []election.Member) (self, error) {
	place := v.term.Place
	me := self{place: place, address: place.Source.WithZone(""), weight: v.cfg.Spread.Weight, own: v.host.Own(place, v.cfg.addresses)}
	for _, m := range list {
		if m.Self {
			me.gets, me.witness, me.never, v.node = m.State == election.Active, m.Witness, m.NoCandidate, m.Node
			me.holder = me.gets && !v.cfg.Local()
		}
	}
	serves := servesAt(me.address, me.own)
	me.address = v.roster.named(me.address, serves)
	if len(v.cfg.Spread.Members) > 0 && !me.witness && !slices.Contains(v.cfg.Spread.Members, me.address) {
		if !slices.Contains(v.cfg.Candidates, me.address) && !slices.Contains(v.cfg.Candidates, serves) {
			return me, fmt.Errorf("%s, the own address on %s, is not among spread.members: add it there, on all nodes", serves, place.Name)
		}
		me.weight, me.sends = 0, true
	}
	if mac, err := net.ParseMAC(place.MAC); err == nil && len(mac) == len(me.mac) {
		me.mac = [6]byte(mac)
	}
	return me, nil
}

// healthOf is what this node says of its ports in a term, by their checks, and why it is not fit.
func healthOf(term instance.Term, tables []*table) (healthy map[string]bool, why string) {
	ready := term.Ready()
	healthy = map[string]bool{"": ready.Fit}
	for _, t := range tables {
		if t.check != "" {
			healthy[t.check] = ready.Open && term.Healthy(t.check)
		}
	}
	return healthy, ready.Reason
}

// say tells the other members of this node's part, once its kernel is ready for it.
func (v *server) say(me self, healthy map[string]bool) {
	if me.witness {
		return
	}
	said := ownSpread(v.kernel.tables, me, healthy)
	said.Clients = v.counter.clients
	said.LacksHolder = v.roster.lacksHolder || v.cfg.masquerades() // with masquerade nothing is given back
	if said.Translates = v.cfg.translates(me); said.Translates {
		said.Left = v.remaining.list(&v.kernel)
	}
	v.spreader.say(said)
}

func (v *server) count(now time.Time) {
	v.counter.count(now, v.kernel.tables, v.remaining.often(now))
}

// drain counts connections more often until then, for an operator who waits for their end.
func (v *server) drain(now, until time.Time) {
	v.counter.drain(now, until)
	if v.elector != nil {
		v.count(now)
	}
}

// fail notes why nothing is spread, or no longer as it should be.
func (v *server) fail(err error) {
	if text := err.Error(); text != v.problem {
		v.problem = text
		v.log.Warn("the load is not spread as it should be", "error", err)
	}
	v.show()
}

// succeed notes that it is, and shows what is new.
func (v *server) succeed(now time.Time, changed bool) {
	if v.problem != "" {
		v.log.Info("the load is spread again")
		v.problem, changed = "", true
	}
	if changed || v.showed.Before(v.settled) || now.Sub(v.showed) >= showEvery {
		v.showed = now
		v.show()
	}
}

// close ends the service.
func (v *server) close() error {
	v.stop()
	v.teller.rest(time.Now())
	return v.kernel.close(v.host.Stays(v.cfg.Name))
}

// closeIfDone ends a service that has nothing to do any more, and has been told of nothing that it may have to do.
func (v *server) closeIfDone() {
	if !v.closed && len(v.kernel.tables) == 0 && v.out.queue.closeEmpty() {
		v.stop()
	}
}

// stop ends everything but what is in the kernel.
func (v *server) stop() {
	v.end()
	v.closed = true
	v.followers.serve(nil, netip.Addr{})
	v.jobs.stop()
}

// show publishes the status.
func (v *server) show() {
	until, endings := v.kernel.until(), v.kernel.endings()
	v.out.until.Store(&until)
	v.out.ending.Store(&endings)
	v.out.shown.Store(v.status())
	v.host.Stands(!until.IsZero())
}
