package spread

import (
	"errors"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// kernel keeps the tables of an entry in the kernel, and looks whether it still has them. It is told who the members are, and knows neither an election
// nor what members say. It belongs to the service's goroutine, which waits in its methods as long as the kernel takes.
type kernel struct {
	host       Host
	log        *slog.Logger
	cfg        *entry
	forwarding forwarding
	tables     []*table // those that end are behind the others

	holderHasAll bool // until now the holder has served everything
}

// configure takes over a configuration, and returns the tables that are none any more: they are to be shut when those that take their place are there.
// Tables that go on are the same as before. What is not spread any more ends in tables of its own; without a term it does at once, because nobody
// knows where the address is.
func (k *kernel) configure(now time.Time, cfg *entry, term bool) (gone []*table) {
	k.cfg = cfg
	before := k.tables
	var next, ending []*table
	sets := cfg.portSets()
	for _, s := range sets {
		t := named(before, s.name)
		if t == nil {
			t = &table{slots: slotsOf(before, s)}
		}
		next = append(next, t)
	}
	if term {
		ending = endingTables(now, before, cfg.ports)
	}
	for i, s := range sets {
		next[i].portSet, next[i].retry = s, time.Time{}
	}
	k.tables = append(next, ending...)
	return slices.DeleteFunc(before, func(t *table) bool { return slices.Contains(k.tables, t) })
}

// begin opens a term at p.
func (k *kernel) begin(p instance.Place) {
	k.forwarding = forwarding{}
	for _, t := range k.tables {
		if t.applied != nil && t.applied.Index != p.Index {
			k.shut(t)
		}
	}
}

// serve has all tables follow the members, and tells whether anything of these is new.
func (k *kernel) serve(now time.Time, me self, rowsOf func(*table) []row) (changed bool, err error) {
	k.look(now, me.place)
	var errs []error
	for _, t := range k.tables {
		rows := rowsOf(t)
		changed = changed || !slices.EqualFunc(t.rows, rows, row.same)
		errs = append(errs, k.serveTable(now, t, rows, me))
	}
	return changed, errors.Join(errs...)
}

// serveTable does not ask the kernel each time that a member says something for what it has refused.
func (k *kernel) serveTable(now time.Time, t *table, rows []row, me self) error {
	if now.Before(t.retry) {
		return t.failure
	}
	t.retry, t.failure = time.Time{}, k.apply(now, t, rows, me)
	t.unsure = t.failure != nil
	if t.failure != nil {
		t.retry = now.Add(retryAfter)
	}
	return t.failure
}

func (k *kernel) apply(now time.Time, t *table, rows []row, me self) error {
	if t.plane == nil {
		plane, err := k.host.Open(t.name)
		if err != nil {
			return err
		}
		t.plane = plane
	}
	changed := t.update(now, rows, k.holderHasAll)
	cfg := k.config(now, t, me)
	if changed || t.applied == nil || t.unsure || !reflect.DeepEqual(*t.applied, cfg) {
		if err := t.plane.Apply(cfg); err != nil {
			return err
		}
		k.forget(t, cfg)
		t.applied = &cfg
		t.renewed = time.Time{}
	}
	return errors.Join(k.endDead(t, rows, me.holder), k.keep(now, t))
}

// forget has the kernel forget what members have reset that get no connections by cfg any more.
func (k *kernel) forget(t *table, cfg spreadtables.Config) {
	if !cfg.Masquerade || t.applied == nil {
		return
	}
	owners := ownersOf(cfg)
	gone := slices.DeleteFunc(ownersOf(*t.applied), func(a netip.Addr) bool { return slices.Contains(owners, a) })
	if err := t.plane.Forget(gone...); err != nil {
		k.log.Warn("a new connection may be given to a member that has reset the last one from the same port", "error", err)
	}
}

// ownersOf are the addresses of the members that get connections.
func ownersOf(cfg spreadtables.Config) (out []netip.Addr) {
	for i, m := range cfg.Members {
		if cfg.Slots != nil && slices.Contains(cfg.Slots.Owner, uint8(i)) {
			out = append(out, m.Addresses...)
		}
	}
	return out
}

// config is what the kernel is to do for a table. A node that is one too many is no member of it, and sends on what it receives.
func (k *kernel) config(now time.Time, t *table, me self) spreadtables.Config {
	cfg := spreadtables.Config{
		Link: me.place.Name, Index: me.place.Index, Addresses: k.cfg.addresses, Self: me.own, Slots: t.slots.slots, Seed: k.cfg.seed(), Lifetime: lifetime, Ending: t.ends(),
		Unbound: k.cfg.Local(), NeverHolds: me.never,
	}
	for _, p := range t.ports {
		cfg.Ports = append(cfg.Ports, inKernel(p))
	}
	for _, r := range t.rows {
		cfg.Members = append(cfg.Members, r.MemberAt)
	}
	if k.cfg.masquerades() {
		cfg.Masquerade = true
		k.forwarding.complete(now, cfg.Members, func(member netip.Addr) netip.Addr { return k.host.Toward(me.place, member) })
	}
	// What belongs to a connection of the holder comes back from a member that has the holder in its tables; any other member would end the connection.
	self := slices.IndexFunc(t.rows, func(r row) bool { return r.Self })
	if len(k.lackHolder(me, t)) > 0 && self >= 0 {
		cfg.Slots = cfg.Slots.Kept(uint8(self), func(m uint8) bool { return t.rows[m].lacksHolder })
	}
	return cfg
}

// lackHolder are members that get no new connections of these tables though they are fit: this node is the holder, and they have not heard how it spreads.
func (k *kernel) lackHolder(me self, tables ...*table) (out []string) {
	if !me.holder || k.cfg.masquerades() {
		return nil
	}
	for _, t := range tables {
		for _, r := range t.rows {
			if !t.ends() && r.lacksHolder && r.Owns() && !slices.Contains(out, r.Address.String()) {
				out = append(out, r.Address.String())
			}
		}
	}
	return out
}

// look looks at what this host is set to, for masquerading.
func (k *kernel) look(now time.Time, p instance.Place) {
	if k.cfg.masquerades() {
		k.forwarding.look(now, k.cfg.addresses, func(ipv4 bool) (string, bool) { return k.host.Forwards(p, ipv4) })
	}
}

// keep has the kernel go on with what it has, and looks whether it has it.
func (k *kernel) keep(now time.Time, t *table) error {
	if now.Sub(t.renewed) >= renewEvery {
		if err := t.plane.Renew(t.goesOn(now)); err != nil {
			return err
		}
		t.renewed = now
	}
	if now.Sub(t.looked) < lookEvery {
		return nil
	}
	t.looked = now
	mended, err := t.plane.Mend()
	if mended {
		k.log.Warn("somebody has changed the tables of what is spread: they are made anew", "tables", t.name)
	}
	return err
}

// endDead ends the masqueraded connections to members that have died, once; and what an earlier run has left on a node that is not the holder any more.
func (k *kernel) endDead(t *table, rows []row, holder bool) error {
	if !k.cfg.masquerades() {
		return nil
	}
	if !t.swept && !holder {
		k.end(t)
	}
	t.swept = true
	fresh, dead := t.newDead(rows, true)
	t.ended = slices.DeleteFunc(slices.Clone(dead), func(a netip.Addr) bool { return slices.Contains(fresh, a) })
	if len(fresh) == 0 {
		return nil
	}
	n, _, err := t.plane.End(fresh...)
	if n > 0 {
		k.log.Info("connections to a member that is dead are ended", "members", fresh, "connections", n)
	}
	if err == nil {
		t.ended = dead
	}
	return err
}

// end ends the connections of a table that are translated here, and returns their clients, who were told.
func (k *kernel) end(t *table) []spreadtables.Client {
	if t.plane == nil || t.applied == nil || !t.applied.Masquerade {
		return nil
	}
	n, clients, err := t.plane.End()
	if err != nil {
		k.log.Debug("connections are not ended", "error", err)
	}
	if n > 0 {
		k.log.Info("connections that this node translated are ended, as the address leaves", "table", t.name, "connections", n)
	}
	return clients
}

// endAll ends the connections of all tables that are translated here, and returns their clients, who were told.
func (k *kernel) endAll() (clients []spreadtables.Client) {
	for _, t := range k.tables {
		clients = append(clients, k.end(t)...)
	}
	return clients
}

// shut takes a table away.
func (k *kernel) shut(t *table) {
	if t.plane == nil {
		return
	}
	k.end(t)
	if err := t.plane.Close(); err != nil {
		k.log.Warn("tables of what was spread stay", "table", t.name, "error", err)
	}
	t.plane, t.applied = nil, nil
}

// finish takes away the tables that have ended, and tells whether there were any. elsewhere tells whether another member has connections to ports.
func (k *kernel) finish(now time.Time, elsewhere func([]config.SpreadPort) bool) bool {
	before := len(k.tables)
	k.tables = slices.DeleteFunc(k.tables, func(t *table) bool {
		if !t.ends() || !t.finished(now, elsewhere(t.ports)) {
			return false
		}
		k.log.Info("connections that were spread have ended", "table", t.name, "left", t.count)
		k.shut(t)
		return true
	})
	return len(k.tables) < before
}

// close takes all tables away, but where another run is to go on those that have connections here.
func (k *kernel) close(stays bool) error {
	var errs []error
	for _, t := range k.tables {
		if t.plane == nil {
			continue
		}
		n, err := t.plane.Count(0)
		if stays && !k.cfg.masquerades() && !t.ends() && t.applied != nil && (total(n.Ports) > 0 || err != nil) {
			k.log.Info("connections that are spread go on here for a while, or until keepvip runs again", "table", t.name, "connections", total(n.Ports), "for", lifetime)
			errs = append(errs, t.plane.Renew(lifetime))
			t.plane.Leave()
			continue
		}
		k.end(t)
		errs = append(errs, t.plane.Close())
	}
	return errors.Join(errs...)
}

// until is the end of what the kernel has of what is spread; the zero Time: it has nothing.
func (k *kernel) until() (out time.Time) {
	for i, t := range k.tables {
		if t.ends() {
			break // the others are before it
		}
		if t.applied == nil || t.renewed.IsZero() {
			return time.Time{}
		}
		if end := t.renewed.Add(lifetime); i == 0 || end.Before(out) {
			out = end
		}
	}
	return out
}

// translated is how many connections this node translates to a member, as they were counted last.
func (k *kernel) translated(r row) (n uint32) {
	for _, t := range k.tables {
		for _, a := range r.Addresses {
			n += uint32(t.to[a])
		}
	}
	return n
}

// endings are the ports of all tables, each with its end.
func (k *kernel) endings() (out []Ending) {
	if k.cfg.masquerades() {
		return nil
	}
	for _, t := range k.tables {
		for _, p := range t.ports {
			out = append(out, Ending{p, t.until})
		}
	}
	return out
}
