package trial

import (
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
	var addresses []string
	for _, a := range s.Addresses {
		addresses = append(addresses, "'"+a.String()+"'")
	}
	return n.WriteFile("keepvip.yaml", fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [%s]\n  interface: %s\n  priority: %d\n  check: none\n  vrrp: {advertisementInterval: %s}\n%s",
		strings.Join(addresses, ", "), n.NICs[0].Name, s.Priority, s.Interval, election), 0o600)
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
