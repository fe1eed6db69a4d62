package trial

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Filed is keepvip with a configuration file, which a reload reads again.
type Filed struct {
	Keepvip
	Heartbeat time.Duration // not 0: elects by Raft, with this raft.heartbeatTimeout
	NoLines   bool          // without lifelines, which have the port of Raft
}

func (p Filed) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	return p.Run(n, "--config", try.Get(p.write(n, s)))
}

// Reload makes the node's keepvip one with other settings.
func (p Filed) Reload(n *lab.Node, s Settings) (err error) {
	defer try.Catch(&err)
	try.Get(p.write(n, s))
	return p.reload(n)
}

// reload has the node's keepvip read its configuration again.
func (k Keepvip) reload(n *lab.Node) error { return k.order(n, "reload") }

func (p Filed) write(n *lab.Node, s Settings) (_ string, err error) {
	defer try.Catch(&err)
	election := ""
	if p.Heartbeat > 0 {
		key := try.Get(n.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600))
		election = fmt.Sprintf("  election: raft\nkey: {file: %s}\nraft: {peers: [%s], heartbeatTimeout: %s}\n", key, addressesOf(3), p.Heartbeat)
	}
	if p.NoLines {
		election += "lifeline: false\n"
	}
	return n.WriteFile("keepvip.yaml", fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [%s]\n  interface: %s\n  priority: %d\n  check: none\n  vrrp: {advertisementInterval: %s}\n%s",
		quoted(s.Addresses), n.NICs[0].Name, s.Priority, s.Interval, election), 0o600)
}

// another is an address that only some reloads name.
var another = netip.MustParseAddr("10.77.0.101")

// Reloads are changes that a holder takes over while it holds.
var Reloads = map[string]func(*Settings){
	"another address": func(s *Settings) { s.Addresses = append(append([]netip.Addr{}, s.Addresses...), another) },
	"shorter interval": func(s *Settings) {
		s.Interval = max(s.Interval*8/10/(10*time.Millisecond)*(10*time.Millisecond), 10*time.Millisecond)
	},
	"longer interval": func(s *Settings) { s.Interval += 10 * time.Millisecond },
}

// ReloadedAndKilled changes the configuration of the holder, and kills it up to so much later.
func ReloadedAndKilled(change func(*Settings), within time.Duration) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		product := Filed{}
		var victim *lab.Node
		res := try.Get(g.run("reloaded and killed", lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			victim = holder
			s := g.Settings[holder.ID-1]
			change(&s)
			try.Do(product.Reload(holder, s))
			m.Mark("%s reloaded", holder.Label)
			time.Sleep(time.Duration(rand.Float64() * float64(within)))
			at := m.Mark("kill -9 of the daemon on %s", holder.Label)
			try.Do(g.Daemon(holder).Kill9())
			time.Sleep(2 * g.span())
			return at
		}))
		return res, g.Start(victim)
	}
}

// reloadsAndKills are all changes of a holder that is killed after them.
func reloadsAndKills() []Case {
	var list []Case
	for _, interval := range []time.Duration{100 * time.Millisecond, 10 * time.Millisecond} {
		for _, name := range slices.Sorted(maps.Keys(Reloads)) {
			cfg := Config{Product: Filed{}, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}, Interval: interval}
			list = append(list, Case{Name: fmt.Sprintf("%s, %v", name, interval), Brief: interval == 100*time.Millisecond, Run: inside(Open, cfg, func(g *Group, times int) Findings {
				var r rivals
				for i := range times {
					res := try.Get(ReloadedAndKilled(Reloads[name], time.Duration(i%2)*1500*time.Millisecond)(g))
					r.add(res, res.Report.Ended)
				}
				return r.findings()
			})})
		}
	}
	return list
}

// raftReloads begin an election by Raft with another heartbeat timeout than the process started with, and change it again while the
// cluster runs: the lease of the fence is that of the cluster. At the end VRRP elects again.
func raftReloads() []Case {
	var list []Case
	for _, heartbeat := range []time.Duration{1500 * time.Millisecond, 400 * time.Millisecond} {
		list = append(list, Case{Name: fmt.Sprint(heartbeat), Brief: heartbeat > time.Second, Run: func(host *lab.Host, times int) (Findings, error) {
			var worst raftReloaded
			for range times {
				if err := worst.once(host, heartbeat); err != nil {
					return nil, err
				}
			}
			return worst.findings(), nil
		}})
	}
	return list
}

// raftReloaded sums up several runs.
type raftReloaded struct {
	two, beside, outage time.Duration
	lost                float64 // per cent, of the run that lost most
	left                int     // nodes that Raft goes on at when VRRP elects again
}

func (r *raftReloaded) findings() Findings {
	return Findings{
		took("two nodes answering", r.two, 0), took("a killed leader beside another", r.beside, 0), told("longest outage", r.outage),
		// A lease that is too short ends between every two calls of the leader: a quarter of the time. A starved machine costs less.
		{What: "time without an answer", Got: r.lost, Limit: 4, Unit: "%"},
		none("nodes that still listen for Raft", r.left),
	}
}

func (r *raftReloaded) once(host *lab.Host, heartbeat time.Duration) (err error) {
	defer try.Catch(&err)
	g := try.Get(Open(host, Config{Product: Filed{NoLines: true}, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}}))
	defer g.Close()
	for _, h := range []time.Duration{heartbeat, heartbeat * 3 / 2} {
		try.Do(errors.Join(g.reloadAll(Filed{Heartbeat: h, NoLines: true}), r.watch(g, h)))
	}
	try.Do(r.kill(g, Filed{Heartbeat: heartbeat * 3 / 2, NoLines: true}))
	try.Do(errors.Join(g.reloadAll(Filed{NoLines: true}), r.watch(g, g.Settings[0].Interval)))
	for _, n := range g.Lab.Nodes {
		r.left += count(try.Get(n.Run("ss", "-Hltn", "sport", "=", ":9646")) != "")
	}
	return nil
}

// reloadAll makes the keepvip of every node one of that kind, and waits for the holder.
func (g *Group) reloadAll(p Filed) (err error) {
	defer try.Catch(&err)
	for _, n := range g.Lab.Nodes {
		try.Do(p.Reload(n, g.Settings[n.ID-1]))
	}
	return try.Err(g.SettleAny())
}

// watch looks on for a time in which a lease that is too short would end several times.
func (r *raftReloaded) watch(g *Group, lease time.Duration) (err error) {
	defer try.Catch(&err)
	m := try.Get(g.watch("reloaded", lab.MeasureConfig{}))
	from := g.Lab.Now()
	time.Sleep(max(3*lease, time.Second))
	rep := m.Stop()
	r.two = max(r.two, rep.TwoIn(from, rep.Ended))
	r.lost = max(r.lost, lostShare(rep))
	r.outage = max(r.outage, rep.LongestAfter(from))
	return nil
}

// kill ends the leader's process, which must be silent when another node has the address, and starts it again.
func (r *raftReloaded) kill(g *Group, p Filed) (err error) {
	defer try.Catch(&err)
	holder := try.Get(g.SettleAny())
	m := try.Get(g.watch("killed", lab.MeasureConfig{}))
	at := g.Lab.Now()
	try.Do(g.Daemon(holder).Kill9())
	time.Sleep(2*p.Heartbeat + time.Second)
	rep := m.Stop()
	r.beside = max(r.beside, rep.Beside(holder.ID, at, rep.Ended))
	g.Daemons[holder.ID-1] = try.Get(p.Start(holder, g.Settings[holder.ID-1]))
	return try.Err(g.SettleAny())
}

// lostShare is how many of a hundred probes had no answer.
func lostShare(r *lab.Report) float64 {
	sent, lost := 0, 0
	for _, s := range r.Streams {
		sent, lost = sent+s.Sent, lost+s.Lost
	}
	return 100 * float64(lost) / float64(max(sent, 1))
}
