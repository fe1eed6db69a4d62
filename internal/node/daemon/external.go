package daemon

import (
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// departure is an entry that a reload has made external, and that this node still serves as one that comes last: its clients have to learn of it
// first.
type departure struct {
	served config.VIP // as it is served until then
	began  time.Time
	until  time.Time // its grace after it began
	timer  *time.Timer
	asked  bool // once more, since this node held the addresses when the time was over
}

// lastLeaves is for how long a node that holds the addresses stays longer than the others: none of them is to take what it gives up.
const lastLeaves = time.Second

// departures are those that are under way, by the names of the entries.
type departures map[string]*departure

// serving is what the instances make of a configuration: of entries that are about to become external they serve what they did before.
func (d departures) serving(cfg *config.Config) *config.Config {
	var served []config.VIP
	for _, at := range d {
		served = append(served, at.served)
	}
	return inPlace(cfg, served)
}

// inPlace is cfg with these in place of those of their names that are external; cfg itself, if there are none.
func inPlace(cfg *config.Config, served []config.VIP) *config.Config {
	if len(served) == 0 {
		return cfg
	}
	out := *cfg
	out.VIPs = slices.Clone(cfg.VIPs)
	for i, v := range out.VIPs {
		if at := slices.IndexFunc(served, func(s config.VIP) bool { return s.Name == v.Name }); at >= 0 && v.External() {
			out.VIPs[i] = served[at]
		}
	}
	return &out
}

// departing are the entries of next that a reload from before makes external, with what is served of them meanwhile.
func departing(before, next *config.Config) []config.VIP {
	var out []config.VIP
	for _, v := range next.VIPs {
		old, existed := before.VIP(v.Name)
		if !existed || old.External() || !v.External() || v.ExternalGrace == 0 {
			continue
		}
		// Who claims the address from now on may be whom it is given to.
		old.OnConflict, old.ProbeBeforeBind = config.Yield, true
		out = append(out, old)
	}
	return out
}

// moves is a reload as the instances carry it out.
type moves struct {
	serving *config.Config // what they make of the new configuration
	begin   []*departure
	onward  []*departure // departures of which the new configuration says something else than the old one
	end     []string     // departures that are over, because the entry is internal again, or gone
	back    []config.VIP
}

// moves compares what is served of the configuration in force with next.
func (d departures) moves(inForce, next *config.Config, now time.Time) (before *config.Config, m moves) {
	before = d.serving(inForce)
	for name, at := range d {
		v, there := next.VIP(name)
		old, _ := inForce.VIP(name)
		switch {
		case !there:
			m.end = append(m.end, name)
		case !v.External():
			m.end, m.back = append(m.end, name), append(m.back, v)
		case v.ExternalGrace != old.ExternalGrace || v.HostPort() != old.HostPort():
			m.onward = append(m.onward, &departure{served: at.served, began: at.began, until: at.began.Add(v.ExternalGrace)})
		}
	}
	var served []config.VIP
	for _, old := range departing(before, next) {
		if d[old.Name] == nil {
			v, _ := next.VIP(old.Name)
			m.begin, served = append(m.begin, &departure{served: old, began: now, until: now.Add(v.ExternalGrace)}), append(served, old)
		}
	}
	m.serving = inPlace(d.serving(next), served)
	return before, m
}

// running is what this process makes of what it serves, and of next.
func (m *moves) running(before, next *config.Config) (serving, running *config.Config) {
	running = config.Running(before, next)
	if m.serving == next {
		return running, running
	}
	return config.Running(before, m.serving), running
}

// adjustFor adds what the instances have to do for the moves, beside what differs in what is served.
func (d *Daemon) adjustFor(m moves, next *config.Config, delta *instance.Delta, done *Reloaded) error {
	for _, at := range slices.Concat(m.begin, m.onward) {
		in, err := d.build.instance(at.served, m.serving)
		if err != nil {
			return err
		}
		v, _ := next.VIP(at.served.Name)
		in.Leaving = &instance.Leaving{Endpoint: v.HostPort(), Until: at.until}
		replace(&delta.Adjust, in)
		note(&done.Changed, v.Name)
	}
	for _, v := range m.back {
		if slices.Contains(done.Recreated, v.Name) {
			continue
		}
		in, err := d.build.instance(v, m.serving)
		if err != nil {
			return err
		}
		old, _ := d.cfg.VIP(v.Name)
		in.Interim = old.HostPort()
		replace(&delta.Adjust, in)
		note(&done.Changed, v.Name)
	}
	for i, in := range delta.Add { // what was external is served by nobody at first
		if old, existed := d.cfg.VIP(in.VIP.Name); existed && old.External() && !in.VIP.External() {
			delta.Add[i].Interim = old.HostPort()
		}
	}
	return nil
}

// replace puts in into the list, in place of one of its name.
func replace(list *[]instance.Config, in instance.Config) {
	i := slices.IndexFunc(*list, func(o instance.Config) bool { return o.VIP.Name == in.VIP.Name })
	if i < 0 {
		*list = append(*list, in)
		return
	}
	(*list)[i] = in
}

func note(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// follow begins, changes and ends departures, once the instances have theirs. depart is called when the time of one is over.
func (d departures) follow(m moves, depart func(*departure)) {
	for _, name := range m.end {
		d[name].timer.Stop()
		delete(d, name)
	}
	for _, at := range m.begin {
		d[at.served.Name] = at
		at.timer = time.AfterFunc(time.Until(at.until), func() { depart(at) })
	}
	for _, next := range m.onward {
		at := d[next.served.Name]
		at.until, at.asked = next.until, false
		at.timer.Reset(time.Until(at.until))
	}
}

// stop ends them all.
func (d departures) stop() {
	for _, at := range d {
		at.timer.Stop()
	}
	clear(d)
}

// serveNow has the host know what is served from now on.
func (d *Daemon) serveNow(cfg *config.Config) {
	d.host.know(cfg)
	d.build.groups.set(cfg.Internal())
	d.build.newest.Store(cfg)
}

// depart ends what a node still serves of an entry that is external.
func (d *Daemon) depart(at *departure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := at.served.Name
	v, there := d.cfg.VIP(name)
	if d.departures[name] != at || !there || d.ending.Load() {
		return
	}
	if left := time.Until(at.until); left > 0 { // a reload has given it more time, as the time was over
		at.timer.Reset(left)
		return
	}
	if !at.asked && d.set.Holds(name) {
		at.asked = true
		at.timer.Reset(lastLeaves)
		return
	}
	in, err := d.build.instance(v, d.cfg)
	if err != nil {
		d.log.Error("an entry does not become external", "vip", name, "error", err)
		return
	}
	delete(d.departures, name)
	serving := d.departures.serving(d.cfg)
	d.serveNow(serving)
	d.build.raft.use(serving, func() {})
	d.set.Apply(instance.Delta{Remove: []string{name}, Add: []instance.Config{in}})
	d.host.bearers.removeOthers(serving)
	d.build.raft.closeIdle()
	d.build.memberSockets.lines.freed(serving)
}

// stopDepartures ends them with the process.
func (d *Daemon) stopDepartures() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.departures.stop()
}
