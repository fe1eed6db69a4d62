package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Fault breaks something in a settled group, waits for the outcome, and leaves
// the group whole again.
type Fault func(g *Group) (*Result, error)

// span is how long a takeover may take and still be watched.
func (g *Group) span() time.Duration {
	if r, ok := g.Product.(Raft); ok {
		return max(4*r.heartbeat(), time.Second)
	}
	return max(8*g.Settings[0].Interval, 800*time.Millisecond)
}

// run measures around a fault. It falls anywhere between two advertisements, as
// in life: settling would otherwise tie it to the phase of the takeover before.
// The fault notes its moment before it acts, and returns it: what follows from it may come before a busy machine runs this process again. Its steps are caught.
func (g *Group) run(name string, cfg lab.MeasureConfig, fault func(m *lab.Measurement, holder *lab.Node) (at time.Duration)) (_ *Result, err error) {
	defer try.Catch(&err)
	holder, m := try.Two(g.ready(name, cfg))
	at, err := try.Of(func() time.Duration { return fault(m, holder) })
	r := m.Stop()
	if r.Blind != nil {
		return nil, fmt.Errorf("trial: %s: %w", name, r.Blind)
	}
	if err != nil {
		return nil, fmt.Errorf("trial: %s: %w", name, err)
	}
	return g.result(name, at, holder, r), nil
}

// ready watches a holder that has the address when the fault is due: one that stood still meanwhile has lost it.
func (g *Group) ready(name string, cfg lab.MeasureConfig) (_ *lab.Node, _ *lab.Measurement, err error) {
	defer try.Catch(&err)
	interval := g.Settings[0].Interval
	for range movesBefore {
		holder := try.Get(g.Settle())
		m := try.Get(g.watch(name, cfg))
		time.Sleep(interval + 50*time.Millisecond + rand.N(interval)) // its capture has an advertisement
		if slices.Equal(g.Holders(), []*lab.Node{holder}) {
			return holder, m, nil
		}
		m.Stop()
	}
	return nil, nil, fmt.Errorf("trial: %s: the holder loses the address again and again: %s\n%s", name, g.describe(), g.Logs())
}

// movesBefore is how often a holder may lose the address before a fault happens to it.
const movesBefore = 10

// errNotHeld says what keepvip says where it is asked to pass on an address that it does not hold.
var errNotHeld = errors.New("this node does not hold the address")

// atTheHolder does what a node that has lost the address before refuses, and a drill while another node is not fit again (KV704): then nothing has
// happened, and the next holder is asked.
func atTheHolder[T any](do func() (T, error)) (got T, err error) {
	for range movesBefore {
		if got, err = do(); err == nil || !strings.Contains(err.Error(), errNotHeld.Error()) && !strings.Contains(err.Error(), "(KV704)") {
			break
		}
	}
	return got, err
}

// NodeDeath cuts the holder off and kills everything on it.
func NodeDeath(g *Group) (*Result, error) {
	power := nodeFaultOf("power")
	power.name, power.undo = "node death", g.reboot
	return g.whileItLasts(power, lab.MeasureConfig{}, g.span())
}

// reboot brings a dead node back with everything it ran.
func (g *Group) reboot(n *lab.Node) (err error) {
	defer try.Catch(&err)
	try.Do(n.PowerOn())
	if g.Settings[n.ID-1].API {
		try.Get(n.StartAPIServer())
	}
	return g.Start(n)
}

// DaemonKilled kills the daemon on the holder with SIGKILL; its kernel and its
// address stay. Afterwards the daemon is started again.
func DaemonKilled(g *Group) (*Result, error) {
	killed := nodeFault{"daemon killed", func(n *lab.Node) error { return g.Daemon(n).Kill9() }, g.Start}
	return g.whileItLasts(killed, lab.MeasureConfig{}, g.span())
}

// RestartAfter is how soon a supervisor starts a killed daemon again.
const RestartAfter = 200 * time.Millisecond

// DaemonRestarted kills the daemon on the holder and starts it again while
// everything is watched.
func DaemonRestarted(g *Group) (*Result, error) { return killedAndStarted(RestartAfter)(g) }

// Terminated stops the daemon on the holder with SIGTERM, then starts it again.
func Terminated(g *Group) (*Result, error) {
	return g.whileItLasts(nodeFault{"SIGTERM", g.terminated, g.Start}, g.everywhere(), g.span())
}

// CablePulled takes the carrier away from the holder, and gives it back.
func CablePulled(g *Group) (*Result, error) {
	cable := nodeFaultOf("cable")
	cable.name = "cable pulled"
	return g.whileItLasts(cable, lab.MeasureConfig{}, g.span())
}

// whileItLasts has a fault happen to the holder, watches for a while, and undoes it when nobody watches any more.
func (g *Group) whileItLasts(f nodeFault, cfg lab.MeasureConfig, watch time.Duration) (*Result, error) {
	var victim *lab.Node
	res, err := g.run(f.name, cfg, func(m *lab.Measurement, holder *lab.Node) time.Duration {
		victim = holder
		at := m.Mark("%s at %s", f.name, holder.Label)
		try.Do(f.begin(holder))
		time.Sleep(watch)
		return at
	})
	if victim != nil {
		err = errors.Join(err, f.undo(victim))
	}
	return res, err
}

// Partition cuts the holder off silently for a while, then heals the network;
// the whole of it is watched.
func Partition(length time.Duration) Fault { return ToHolder("port cut", length) }

// Frozen stops the daemon on the holder with SIGSTOP for a while.
func Frozen(length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		stop := func(n *lab.Node) error { return g.Daemon(n).Stop() }
		return nodeFault{"daemon frozen", stop, func(n *lab.Node) error { return g.Daemon(n).Cont() }}.lasting(length, false)(g)
	}
}

// healthy waits until every node that runs knows its apiserver to be healthy
// again, so that the next fault starts from a clean state.
func (g *Group) healthy() error {
	k, ok := commands(g.Product)
	if !ok {
		// keepalived of the kubeadm guide: two good checks, three seconds apart.
		time.Sleep(10 * time.Second)
		return nil
	}
	return insist(SettleLimit, 50*time.Millisecond, func() error { return g.checkHealthy(k) })
}

func (g *Group) checkHealthy(k Keepvip) (err error) {
	defer try.Catch(&err)
	for _, n := range g.Lab.Nodes {
		if p := g.Daemon(n); p == nil || !p.Alive() {
			continue
		}
		for _, v := range try.Get(k.Status(n)).VIPs {
			if v.Check.State != "healthy" {
				return fmt.Errorf("trial: %s on %s is %q, want healthy: %s", v.Name, n.Label, v.Check.State, v.Check.Reason)
			}
		}
	}
	return nil
}

// Verb runs a keepvip command on the holder, which passes the address on, and
// afterwards `keepvip resume`.
func Verb(args ...string) Fault {
	return func(g *Group) (*Result, error) {
		k, ok := commands(g.Product)
		if !ok {
			return nil, fmt.Errorf("trial: %s has no command to hand over", g.Product.Name())
		}
		pass := func(m *lab.Measurement, holder *lab.Node) time.Duration {
			at := m.Mark("keepvip %v on %s", args, holder.Label)
			try.Do(k.order(holder, args...))
			m.Mark("returned")
			time.Sleep(g.span())
			try.Do(k.order(holder, "resume"))
			return at
		}
		return atTheHolder(func() (*Result, error) { return g.run("keepvip "+args[0], g.everywhere(), pass) })
	}
}

// everywhere measures also from behind the router, if there is one.
func (g *Group) everywhere() lab.MeasureConfig {
	return lab.MeasureConfig{OffLink: g.Lab.OffLink != nil}
}

// Heal cuts the holder off silently for a while. The result counts from the
// moment when the network is whole again: then two nodes are Active, and every
// client has to end up with the one that stays.
//
// With from not 0 that node is made the holder first, so that with equal
// priorities the lower address, which has to yield, can be the one cut off.
func Heal(length time.Duration, from int) Fault {
	return func(g *Group) (*Result, error) {
		if err := g.makeHolder(from); err != nil {
			return nil, err
		}
		return g.run("heal after a partition", g.everywhere(), func(m *lab.Measurement, holder *lab.Node) time.Duration {
			at := try.Get(holder.CutPort())
			m.MarkAt(at, "%s cut off", holder.Label)
			time.Sleep(length)
			at = try.Get(holder.HealPort())
			m.MarkAt(at, "%s reachable again", holder.Label)
			time.Sleep(g.span() + 2*time.Second)
			return at
		})
	}
}

// makeHolder lets the node take over by stopping the others and starting them
// again; it must not have a lower priority than they.
func (g *Group) makeHolder(id int) (err error) {
	defer try.Catch(&err)
	if id == 0 || g.Lab.Nodes[id-1].Holds(g.Addresses[0]) {
		return nil
	}
	others := g.Others(g.Lab.Nodes[id-1])
	for _, n := range others {
		try.Do(terminate(g.Daemon(n)))
	}
	try.Get(g.Settle())
	for _, n := range others {
		try.Do(g.Start(n))
	}
	return try.Err(g.Settle())
}

// Lossy drops percent of all advertisements at the holder, in both directions,
// for a while.
func Lossy(percent int, length time.Duration) Fault {
	lose := func(n *lab.Node) error { return n.LoseVRRP(percent, lab.Both) }
	return nodeFault{"loss of advertisements", lose, (*lab.Node).LoseNothing}.lasting(length, false)
}

// idleAfter is when what a start costs, a takeover, and its announcements, is over.
const idleAfter = 10 * time.Second

// Idle measures what daemons cost beside which nothing happens. The result's CPU and RSS are those of the worst.
func Idle(length time.Duration) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		time.Sleep(idleAfter)
		var cpu float64
		var rss int64
		res := try.Get(g.run("nothing", lab.MeasureConfig{NoDirect: true}, func(m *lab.Measurement, _ *lab.Node) time.Duration {
			at := m.Mark("nothing happens")
			cpu = g.busiest(length)
			for _, p := range g.Daemons {
				rss = max(rss, try.Get(p.TreeRSS()))
			}
			return at
		}))
		res.CPU, res.RSS = cpu, rss
		return res, nil
	}
}
