package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/reloads"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Reloaded says what a reload did.
type Reloaded struct {
	Added     []string `json:"added"`
	Removed   []string `json:"removed"`
	Changed   []string `json:"changed"`   // in place
	Recreated []string `json:"recreated"` // with a new election
	Live      []string `json:"live"`      // keys of the process that it has taken over
	Restart   []string `json:"restart"`   // keys that only a new process takes over
}

// reload reads the configuration again. It is all or nothing: with an error nothing has changed. Reading is bounded in time, ends with ctx, and
// holds up nothing but other reloads.
func (d *Daemon) reload(ctx context.Context) (Reloaded, error) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	d.mu.Lock()
	now, under := d.cfg, maps.Clone(d.departures)
	d.mu.Unlock()
	next, err := reloads.Read(ctx, d.renewed, func() (loaded, error) {
		l, err := d.opts.load(now, under)
		if err == nil {
			d.build.rememberTables(now.StateDir, l.cfg.VIPs) // also of one that is refused: a table too many does no harm
		}
		return l, err
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	var done Reloaded
	if err == nil {
		done, err = d.takeOver(next)
	}
	if errors.Is(err, reloads.ErrProcessEnds) {
		return Reloaded{}, err
	}
	if err != nil {
		d.reloads.Refused(err)
		d.log.Error("configuration not reloaded; the old one stays in force", "error", err)
		return Reloaded{}, err
	}
	d.reloads.Loaded(reloads.SourceOf(d.cfg))
	return done, nil
}

func (d *Daemon) takeOver(l loaded) (Reloaded, error) {
	next := l.cfg
	served, m := d.departures.moves(d.cfg, next, time.Now())
	changes := config.Diff(served, m.serving)
	m.serving, next = m.running(served, next)
	delta, done, err := d.build.delta(changes, m.serving)
	if err != nil {
		return Reloaded{}, err
	}
	if err := d.adjustFor(m, next, &delta, &done); err != nil {
		return Reloaded{}, err
	}
	use, err := d.prepare(m.serving, l.secrets)
	if err != nil {
		return Reloaded{}, err
	}
	for _, w := range next.Warnings {
		d.log.Warn(w)
	}
	use()
	d.doors.health.Use(next.Health.Address)
	limitGarbage(next)
	limitGOMAXPROCS(next)
	d.level.configure(next.Log.Level)
	d.serveNow(m.serving)
	d.hooks.Use(hookEntries(next), leaving(done))
	d.set.Apply(delta)
	d.host.bearers.removeOthers(m.serving)
	d.build.raft.closeIdle()
	d.build.memberSockets.lines.freed(m.serving)
	d.departures.follow(m, d.depart)
	for _, at := range m.begin {
		d.log.Info("the addresses become external; this node goes on as one that comes last", "vip", at.served.Name, "until", at.until)
	}
	d.listening.use(next)
	d.cfg = next
	d.inForce.Store(next)
	d.log.Info("configuration reloaded", "added", done.Added, "removed", done.Removed,
		"changed", done.Changed, "recreated", done.Recreated, "live", done.Live, "restart", done.Restart)
	if len(done.Restart) > 0 {
		d.log.Warn("new values wait for a restart", "keys", done.Restart)
	}
	return done, nil
}

// prepare looks at everything besides the instances that a configuration needs of this host, and changes
// nothing. What it returns takes the configuration over, and cannot fail.
func (d *Daemon) prepare(cfg *config.Config, s secrets) (use func(), err error) {
	if err := errors.Join(d.host.seen.now().fits(cfg), checkUsers(cfg)); err != nil {
		return nil, err
	}
	useKeys, err := d.keys.prepare(cfg.Key, s.keys)
	if err != nil {
		return nil, err
	}
	useRaft, err := d.build.raft.prepare(cfg, s)
	if err != nil {
		return nil, err
	}
	return func() { useKeys(); d.build.memberSockets.lines.use(cfg); useRaft() }, nil
}

// delta turns what differs from the configuration in force into what the instances have to do for next.
func (b *builder) delta(c config.Changes, next *config.Config) (instance.Delta, Reloaded, error) {
	done := Reloaded{
		Added: []string{}, Removed: []string{}, Changed: []string{}, Recreated: []string{},
		Live: append([]string{}, c.Live...), Restart: append([]string{}, c.Restart...),
	}
	var add, adjust []config.VIP
	for _, v := range c.Removed {
		done.Removed = append(done.Removed, v.Name)
	}
	for _, v := range c.Added {
		add = append(add, v)
		done.Added = append(done.Added, v.Name)
	}
	for _, v := range c.Changed {
		if v.Recreate {
			add = append(add, v.New)
			done.Recreated = append(done.Recreated, v.New.Name)
		} else {
			adjust = append(adjust, v.New)
			done.Changed = append(done.Changed, v.New.Name)
		}
	}
	var delta instance.Delta
	var err error
	delta.Remove = slices.Concat(done.Removed, done.Recreated)
	if delta.Add, err = b.instances(add, next); err != nil {
		return instance.Delta{}, Reloaded{}, err
	}
	delta.Adjust, err = b.instances(adjust, next)
	return delta, done, err
}
