package spread

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/spreadtables"
)

// lane is one part with its tables.
type lane struct {
	part
	plane   Plane
	table   table
	rows    []row
	applied *spreadtables.Config // nil: nothing yet
	unsure  bool                 // something has failed since: nobody knows what the kernel has
	renewed time.Time
	looked  time.Time
	count   int                       // of connections here
	counts  map[spreadtables.Port]int // the same by port
	counted time.Time                 // when that was
	to      map[netip.Addr]int        // of masquerade: connections by member
	swept   bool                      // of masquerade: what an earlier run has left was looked at
	ended   []netip.Addr              // of masquerade: members to which connections were ended
	ending
	again   time.Time // after a failure: not before
	failure error     // the newest one; nil: none
}

// serve has the kernel follow the members of a lane. What the kernel has refused it is not asked each time that a member says something.
func (v *server) serve(now time.Time, l *lane, rows []row, own []netip.Addr) error {
	if now.Before(l.again) {
		return l.failure
	}
	l.again, l.failure = time.Time{}, v.apply(now, l, rows, own)
	l.unsure = l.failure != nil
	if l.failure != nil {
		l.again = now.Add(retryAfter)
	}
	return l.failure
}

func (v *server) apply(now time.Time, l *lane, rows []row, own []netip.Addr) error {
	if l.plane == nil {
		plane, err := v.host.Open(l.name)
		if err != nil {
			return err
		}
		l.plane = plane
	}
	before := l.table.slots
	l.rows = rows
	switch held := heldBy(rows); {
	case l.ends():
		l.table = l.table.endingWith(l.base, rows)
	case v.unspread && held.slots != nil:
		if next := held.spread(now, rows); !l.table.like(next) {
			l.table = next
		}
	default:
		l.table = l.table.next(now, rows)
	}
	cfg := v.tables(l, own)
	if !l.ends() && now.Before(v.alone) && slices.ContainsFunc(rows, func(r row) bool { return r.Self && r.holder }) {
		cfg.Slots = nil
	}
	if l.applied == nil || l.unsure || before != l.table.slots || !reflect.DeepEqual(*l.applied, cfg) {
		if err := l.plane.Apply(cfg); err != nil {
			return err
		}
		l.applied = &cfg
		l.renewed = time.Time{}
	}
	return errors.Join(v.endDead(l, rows), v.keep(now, l))
}

// keep has the kernel go on with what it has, and looks whether it has it.
func (v *server) keep(now time.Time, l *lane) error {
	if now.Sub(l.renewed) >= renewEvery {
		if err := l.plane.Renew(l.goesOn(now)); err != nil {
			return err
		}
		l.renewed = now
	}
	if now.Sub(l.looked) < lookEvery {
		return nil
	}
	l.looked = now
	mended, err := l.plane.Mend()
	if mended {
		v.log.Warn("somebody has changed the tables of what is spread: they are made anew", "tables", l.name)
	}
	return err
}

// goesOn is for how long the kernel does if this process does nothing more.
func (l *lane) goesOn(now time.Time) time.Duration {
	if l.ends() {
		return max(l.until.Sub(now), time.Second)
	}
	return lifetime
}

// tables is what the kernel is to do for a lane. A node that is one too many is no member of it, and sends on what it receives.
func (v *server) tables(l *lane, own []netip.Addr) spreadtables.Config {
	cfg := spreadtables.Config{
		Link: v.place.Name, Index: v.place.Index, Addresses: v.cfg.Addresses, Self: own, Slots: l.table.slots, Seed: v.cfg.seed(), Lifetime: lifetime, Ending: l.ends(),
	}
	for _, p := range l.ports {
		cfg.Ports = append(cfg.Ports, p.kernels())
	}
	for _, r := range l.rows {
		cfg.Members = append(cfg.Members, r.at)
	}
	if v.cfg.Masquerade {
		v.masquerade(&cfg)
	}
	return cfg
}

// shut takes a lane's tables away.
func (v *server) shut(l *lane) {
	if l.plane == nil {
		return
	}
	v.endAll(l)
	if err := l.plane.Close(); err != nil {
		v.log.Warn("tables of what was spread stay", "table", l.name, "error", err)
	}
	l.plane, l.applied = nil, nil
}

// until is the end of what the kernel has of what is spread.
func (v *server) until() time.Time {
	var out time.Time
	for i, l := range v.lanes {
		end := l.renewed
		if l.ends() {
			break // they are behind the others
		}
		if l.applied == nil || end.IsZero() {
			return time.Time{}
		}
		end = end.Add(lifetime)
		if i == 0 || end.Before(out) {
			out = end
		}
	}
	return out
}
