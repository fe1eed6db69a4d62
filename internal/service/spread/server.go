package spread

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/instance"
	"github.com/keepvip/keepvip/internal/slots"
)

// server is the state of a Service. Only its goroutine uses it.
type server struct {
	cfg    Config
	host   Host
	log    *slog.Logger
	out    *Service
	ctx    context.Context // ends with the service
	cancel context.CancelFunc
	jobs   sync.WaitGroup // what asks, counts and watches beside the service's goroutine, until ctx ends

	place    instance.Place
	term     instance.Term // its Elector is nil between terms
	elector  election.Spreader
	voice    *voice
	changed  <-chan struct{}
	answers  chan answer
	tallies  chan tally
	roster   roster
	lanes    []*lane
	settled  time.Time // when the members are known, of this term
	last     time.Time // of the newest step
	counted  time.Time
	counting bool // a goroutine is about it
	asked    int  // how often Drain was called
	showed   time.Time
	said     *election.Spread
	problem  string    // why nothing is spread; empty: it is
	node     string    // this node's name
	draining time.Time // until when an operator waits for the end of connections
	// drainsFrom is from when on the others send nothing new here because of that.
	drainsFrom time.Time
	waits      bool      // the others have to know this node, if it is the holder, before it sends them anything
	alone      time.Time // until then it does not
	closed     bool
	unspread   bool // until now the holder has served everything
	leftOut    []row
	lines      election.Lines // what others can bring about
	way        way            // of masquerade
	holds      bool           // this node is the holder

	backends []*backend
	news     chan news

	followers Followers  // who is told of the members; nil: nobody
	served    netip.Addr // by which they call the entry
}

// configure takes over a configuration. Tables of parts that go on are kept.
func (v *server) configure(cfg Config) {
	v.unspread = v.unspread || cfg.Reloaded && v.lanes == nil
	v.waits = v.waits || v.unspread
	v.cfg = cfg
	v.out.masquerades.Store(cfg.Masquerade)
	v.watchBackends(cfg.Backends)
	v.serveFollowers(cfg.Followers, cfg.group())
	now := time.Now()
	v.roster.interval = cfg.Interval
	v.roster.list(now, cfg.Members)
	gone := v.follow(now)
	if v.elector != nil {
		v.step(now)
	}
	for _, l := range gone { // not before what ends is there
		v.shut(l)
	}
	v.show()
}

// begin opens a term. What an earlier run has left goes on until the members are known.
func (v *server) begin(t instance.Term, w *voice, now time.Time) {
	v.place, v.term, v.way = t.Place, t, way{}
	v.roster.self = t.Place.Source.WithZone("")
	v.roster.all = slices.DeleteFunc(v.roster.all, func(m *member) bool { return m.address == v.roster.self })
	v.settled = now.Add(v.settle())
	v.alone, v.roster.begun = now, v.settled.Add(soon)
	if v.waits {
		v.alone = v.settled.Add(v.settle())
	}
	v.waits = false
	v.said = nil
	if w == nil {
		v.fail(errNoSpreader)
		return
	}
	v.voice, v.elector = w, t.Elector.(election.Spreader)
	v.changed = v.elector.MembersChanged()
	for _, l := range v.lanes {
		if l.applied != nil && l.applied.Index != t.Place.Index {
			v.shut(l)
		}
	}
	v.show()
}

// hush has this node say no more that it spreads.
func (v *server) hush() {
	v.hushFollowers()
	if v.elector != nil {
		v.voice.say(nil)
	}
	v.said = nil
}

func (v *server) end() {
	v.hush()
	v.elector, v.changed, v.voice, v.term, v.problem = nil, nil, nil, instance.Term{}, ""
	v.out.busy.Store(false)
	v.show()
}

// settle is how long it takes until all members have heard of each other.
func (v *server) settle() time.Duration { return max(4*v.cfg.Interval, leastSettle) }

// next is when something is due; the zero Time: never.
func (v *server) next() time.Time {
	switch {
	case v.elector == nil:
		return time.Time{}
	case v.last.Before(v.settled):
		return v.settled
	}
	return v.roster.next(v.last)
}

// step looks at the members, and has the kernel and the other members follow.
func (v *server) step(now time.Time) {
	if v.elector == nil || now.Before(v.settled) {
		return
	}
	v.last = now
	if len(v.cfg.Backends) > 0 {
		v.balance(now)
		return
	}
	list := v.elector.Members()
	v.roster.hear(now, list)
	v.roster.settle()
	v.ask(now)
	me, err := v.self(list)
	if err != nil {
		v.hush() // the others would go by another table
		v.count(now)
		v.fail(err)
		return
	}
	v.holds = me.holder
	healthy, why := v.health()
	var errs []error
	var leftOut []row
	changed := v.problem != "" || v.showed.Before(v.settled)
	for _, l := range v.lanes {
		fit, why := healthy[l.check], why
		if l.ends() {
			fit, why = false, takesNone
		}
		var rows []row
		rows, leftOut = plan(l.part, &v.roster, me, fit, why)
		changed = changed || !slices.EqualFunc(l.rows, rows, row.same)
		errs = append(errs, v.serve(now, l, rows, me.own))
	}
	v.unspread = v.aside(list)
	v.lookAtWay(now)
	v.tellFollowers()
	v.count(now)
	v.leave(leftOut)
	if err := errors.Join(errs...); err != nil {
		v.fail(err)
		return
	}
	v.recover()
	v.say(me, healthy)
	if changed || now.Sub(v.showed) >= showEvery {
		v.showed = now
		v.show()
	}
	v.finish(now)
}

// aside tells whether the holder serves everything, as one does that does not spread yet while others do.
func (v *server) aside(list []election.Member) bool {
	i := slices.IndexFunc(list, func(m election.Member) bool { return m.State == election.Active && !m.Silent })
	return i >= 0 && !list[i].Self && v.roster.find(list[i].Address.WithZone(""), false) == nil
}

// ask asks the hosts of members that are, or may soon be, silent.
func (v *server) ask(now time.Time) {
	due, limit := v.roster.ask(now)
	place, ask := v.place, v.asking()
	for _, a := range due {
		v.jobs.Go(func() {
			ctx, cancel := context.WithTimeout(v.ctx, limit)
			defer cancel()
			err := ask(ctx, place, a)
			select {
			case v.answers <- answer{a, err == nil}:
			case <-v.ctx.Done():
			}
		})
	}
}

// self is this node as a member.
func (v *server) self(list []election.Member) (self, error) {
	me := self{address: v.place.Source.WithZone(""), weight: v.cfg.Weight, own: v.host.Own(v.place, v.cfg.Addresses)}
	for _, m := range list {
		if m.Self {
			me.holder, me.witness, v.node = m.State == election.Active, m.Witness, m.Node
		}
	}
	if len(v.cfg.Members) > 0 && !me.witness && !slices.Contains(v.cfg.Members, me.address) {
		if !slices.Contains(v.cfg.Senders, me.address) {
			return me, fmt.Errorf("%s, the own address on %s, is not among spread.members: add it there, on all nodes", me.address, v.place.Name)
		}
		me.weight, me.sends = 0, true
	}
	if mac, err := net.ParseMAC(v.place.MAC); err == nil && len(mac) == len(me.mac) {
		me.mac = [6]byte(mac)
	}
	return me, nil
}

// health is what this node says of its ports, by their checks, and why it is not fit.
func (v *server) health() (healthy map[string]bool, why string) {
	ready := v.term.Ready()
	healthy = map[string]bool{"": ready.Fit}
	for _, l := range v.lanes {
		if l.check != "" {
			healthy[l.check] = ready.Open && v.term.Healthy(l.check)
		}
	}
	return healthy, ready.Reason
}

// say tells the other members of this node's part, once its kernel is ready for it.
func (v *server) say(me self, healthy map[string]bool) {
	if me.witness {
		return
	}
	if next := word(&v.cfg, me, healthy, v.lanes); !reflect.DeepEqual(v.said, next) {
		v.said = next
		v.voice.say(next)
	}
}

// leave notes which members there is no room for.
func (v *server) leave(rows []row) {
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.Condition == slots.Dead })
	const text = "connections are not spread over all members: some get none"
	more := len(rows) > len(v.leftOut)
	if v.leftOut = rows; !more {
		return
	}
	if left, ok := v.lines.May(v.last, text, mostLines); ok {
		var addresses []string
		for _, r := range rows {
			addresses = append(addresses, r.Address.String())
		}
		v.log.Warn(text, election.LeftOut([]any{"members", addresses, "most", slots.Most}, left)...)
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

func (v *server) recover() {
	if v.problem != "" {
		v.log.Info("the load is spread again")
	}
	v.problem = ""
}

// close ends the service.
func (v *server) close() error {
	v.end()
	v.closed = true
	v.serveFollowers(nil, netip.Addr{})
	v.cancel()
	stays := v.cfg.Stays != nil && v.cfg.Stays()
	var errs []error
	for _, l := range v.lanes {
		if l.plane == nil {
			continue
		}
		n, err := l.plane.Connections()
		if stays && !v.cfg.Masquerade && !l.ends() && l.applied != nil && (total(n) > 0 || err != nil) {
			v.log.Info("connections that are spread go on here for a while, or until keepvip runs again", "table", l.name, "connections", total(n), "for", lifetime)
			errs = append(errs, l.plane.Renew(lifetime))
			l.plane.Leave()
			continue
		}
		v.endAll(l)
		errs = append(errs, l.plane.Close())
	}
	return errors.Join(errs...)
}

// show publishes the status.
func (v *server) show() {
	end := v.until()
	v.out.until.Store(&end)
	ending := v.endings()
	v.out.ending.Store(&ending)
	v.out.shown.Store(v.status())
}

// nodes are the members by their addresses.
func (v *server) nodes() map[netip.Addr]*member {
	out := map[netip.Addr]*member{}
	for _, m := range v.roster.all {
		out[m.address] = m
	}
	return out
}
