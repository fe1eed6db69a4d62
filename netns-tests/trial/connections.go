package trial

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	// connectionsPort is the first port where servers hold connections on which nobody says anything.
	connectionsPort = 7443
	// perPort is how many of them a client has with one port. Its own ports are limited, and the kernel searches for long when most are in use.
	perPort = 15000
)

// Connections is what became of open connections to the holder while a fault was measured.
type Connections struct {
	*Result
	Ends  lab.IdleReport
	After time.Duration // from the fault, or from the start after a kill, until the last client was told
	CPU   time.Duration // of the keepvip that reset them, over all that was measured
}

// ConnectionFault is a fault of a holder whose servers are known.
type ConnectionFault func(servers func(*lab.Node) []*lab.IdleServers) Fault

// WithConnections measures a fault while a client holds so many connections to each address. On each it says something so often; 0: never.
func WithConnections(g *Group, count int, every time.Duration, fault ConnectionFault) (_ *Connections, err error) {
	defer try.Catch(&err)
	holder := try.Get(g.Settle())
	servers := map[*lab.Node][]*lab.IdleServers{}
	defer func() {
		for _, all := range servers {
			for _, s := range all {
				s.Stop()
			}
		}
	}()
	var held []*lab.IdleConns
	for port, left := uint16(connectionsPort), count; left > 0; port, left = port+1, left-perPort {
		part := min(left, perPort)
		for _, n := range g.Lab.Nodes {
			servers[n] = append(servers[n], try.Get(n.StartIdleServers(port, part*len(g.Addresses))))
		}
		for _, a := range g.Addresses {
			held = append(held, try.Get(g.Lab.HoldIdle(g.Lab.Client.Namespace, netip.AddrPortFrom(a, port), part, every)))
		}
	}
	daemon := g.Daemon(holder)
	before := daemon.UsedInAll()
	out := &Connections{}
	out.Result = try.Get(fault(func(n *lab.Node) []*lab.IdleServers { return servers[n] })(g))
	out.CPU = daemon.UsedInAll() - before
	from := out.FaultAt
	for _, m := range out.Report.Marks {
		if m.Text == startsAgain {
			from, out.CPU = m.At, g.Daemon(holder).UsedInAll()
		}
	}
	// When the last one is told is a figure, and whether it is, is not.
	_, _ = until(30*time.Second, "all are told", func() bool {
		open, err := g.Lab.Client.Run("ss", "-Htn", "state", "established", "( dport >= "+fmt.Sprint(connectionsPort)+" and dport < "+fmt.Sprint(connectionsPort+100)+" )")
		time.Sleep(500 * time.Millisecond) // it lists thousands
		return err == nil && strings.TrimSpace(open) == ""
	})
	for _, idle := range held {
		out.Ends = append(out.Ends, try.Get(idle.Stop())...)
	}
	out.After = out.Ends.Last() - from
	return out, nil
}

// plainly is a fault that needs no servers.
func plainly(f Fault) ConnectionFault {
	return func(func(*lab.Node) []*lab.IdleServers) Fault { return f }
}

// ConnectionFaults are the ways in which a holder loses its connections.
func ConnectionFaults() map[string]ConnectionFault {
	return map[string]ConnectionFault{
		"handover":                        plainly(Verb("handover")),
		"drain":                           plainly(Verb("drain")),
		"SIGTERM":                         plainly(Terminated),
		"the apiserver dies":              apiserverDies,
		"kill -9, the address still here": plainly(killedAndStarted(time.Second)),
		"kill -9, the address gone":       plainly(killedAndStarted(8 * time.Second)),
		"SIGSTOP for longer than the address lives": plainly(goesOn("daemon stopped and woken", 8*time.Second, (*lab.Process).Stop,
			func(g *Group, holder *lab.Node) error { return g.Daemon(holder).Cont() })),
	}
}

// apiserverDies kills the apiserver and what has its connections: the kernel ends them while keepvip gives the address up.
func apiserverDies(servers func(*lab.Node) []*lab.IdleServers) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		var victim *lab.Node
		res := try.Get(g.run("the apiserver dies", lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			victim = holder
			at := m.Mark("the apiserver on %s dies", holder.Label)
			try.Do(holder.API().Signal(unix.SIGKILL))
			for _, s := range servers(holder) {
				try.Do(s.Kill9())
			}
			time.Sleep(2 * g.span())
			return at
		}))
		return res, startAPI(victim)
	}
}

// startsAgain marks the moment in which a daemon that was killed or stopped goes on.
const startsAgain = "keepvip goes on"

// killedAndStarted kills the daemon on the holder, and starts it again after so long.
func killedAndStarted(after time.Duration) Fault {
	return goesOn("daemon killed and started", after, (*lab.Process).Kill9, func(g *Group, holder *lab.Node) error { return g.Start(holder) })
}

func goesOn(name string, after time.Duration, end func(*lab.Process) error, again func(*Group, *lab.Node) error) Fault {
	return func(g *Group) (*Result, error) {
		return g.run(fmt.Sprintf("%s %v later", name, after), lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			at := m.Mark("%s: %s", name, holder.Label)
			try.Do(end(g.Daemon(holder)))
			time.Sleep(after)
			m.Mark(startsAgain)
			try.Do(again(g, holder))
			time.Sleep(3 * g.span())
			return at
		})
	}
}

// connectionCases are what openConnections goes through.
type connectionCases struct {
	config    Config
	addresses []netip.Addr
	counts    []int
	every     time.Duration // each client says something so often; 0: never
}

// openConnections measures whether all clients are told, and how soon.
func openConnections(all connectionCases) func(*lab.Host, bool) (Findings, error) {
	return func(host *lab.Host, _ bool) (found Findings, err error) {
		for _, vip := range all.addresses {
			cfg := all.config
			cfg.Addresses, cfg.API = []netip.Addr{vip}, true
			more, err := inside(Prepare, cfg, all.once)(host, true)
			if err != nil {
				return found, err
			}
			found = append(found, more...)
		}
		return found, nil
	}
}

// once has all of them happen to a group of one address.
func (all connectionCases) once(g *Group, _ bool) (found Findings) {
	try.Do(g.StartAll())
	for _, count := range all.counts {
		for name, fault := range ConnectionFaults() {
			what := fmt.Sprintf("%s, %d connections to %s", name, count, g.Addresses[0])
			c, err := WithConnections(g, count, all.every, fault)
			if err != nil {
				try.Do(fmt.Errorf("trial: %s: %w", what, err))
			}
			found = append(found, c.findings(what)...)
		}
	}
	return found
}

// connectionShows are of clients that only listen, in several numbers, of clients that speak, and of Raft.
func connectionShows() []Show {
	return []Show{
		measured("idle connections, some", openConnections(connectionCases{addresses: bothVIPs, counts: []int{1000, 17000}})),
		measured("idle connections, many", openConnections(connectionCases{addresses: bothVIPs, counts: []int{60000}})),
		measured("busy connections", openConnections(connectionCases{addresses: bothVIPs, counts: []int{1000, 17000}, every: time.Second})),
		measured("idle connections, raft", openConnections(connectionCases{config: RaftConfig(Raft{}), addresses: bothVIPs[:1], counts: []int{1000, 17000}})),
	}
}

// perConnection is what each of some ten thousand may take on a machine that has client and servers, too.
const perConnection = 30 * time.Microsecond

func (c *Connections) findings(name string) Findings {
	return Findings{
		none(name+": not told", len(c.Ends)-c.Ends.Told()),
		took(name+": the last was told after", c.After, max(time.Second, time.Duration(len(c.Ends))*perConnection)),
		told("new connections fail for", c.Outage),
		took("two answer for", c.Two, 20*time.Millisecond),
		told("processor time of keepvip", c.CPU),
	}
}
