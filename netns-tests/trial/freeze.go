package trial

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Silence is what a holder said in the address's name when it must not any more.
type Silence struct {
	Late  int           `json:"late"`  // frames that carried an address after its lease
	Woken int           `json:"woken"` // announcements after the daemon went on
	Gone  time.Duration `json:"gone"`  // from the fault until the last address was off the victim; -1 while one is on
}

// lease is how long a holder may answer after its last advertisement.
func (s Settings) lease() time.Duration { return 3*s.Interval - 10*time.Millisecond }

// Stop is a way to make the daemon on a node stand still for a while. It calls stands once the daemon does, which is later on a machine with much to
// do.
type Stop func(p *lab.Process, length time.Duration, stands func()) error

// BySignal is SIGSTOP and SIGCONT.
func BySignal(p *lab.Process, length time.Duration, stands func()) error {
	return p.Pause(length, stands)
}

// ByDebugger is ptrace.
func ByDebugger(p *lab.Process, length time.Duration, stands func()) error {
	return p.Trace(length, stands)
}

// ByFreezer is the cgroup freezer.
func ByFreezer(p *lab.Process, length time.Duration, stands func()) error {
	return p.Freeze(length, stands)
}

// Silenced makes the daemon on the holder stand still while a client has a
// connection through each address with data on the way, and notes what the node
// sends in the addresses' names after its lease.
func Silenced(name string, stop Stop, length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		return g.silenced(name, func(m *lab.Measurement, holder *lab.Node) (f standstill) {
			f.began = m.Mark("daemon on %s stands still", holder.Label)
			try.Do(stop(g.Daemon(holder), length, func() { f.stood = g.Lab.Now() }))
			m.Mark("daemon on %s goes on", holder.Label)
			f.woken = f.stood + length // the mark comes after the first frames
			time.Sleep(2 * g.span())
			return f
		})
	}
}

// KilledForGood kills the daemon on the holder, and waits until the addresses are
// off it; then the daemon is started again.
func KilledForGood(g *Group) (*Result, error) {
	return killed("daemon killed for good", func(*lab.Node) error { return nil })(g)
}

// dropEnds lets no end of a lifeline out.
const dropEnds = "table inet unheard { chain out { type filter hook output priority 0; tcp dport 9646 tcp flags & (fin|rst) != 0 drop; }; }"

// KilledUnheard is KilledForGood of a holder whose ends of lifelines do not leave it: the others hear of it by its silence alone.
func KilledUnheard(g *Group) (res *Result, err error) {
	var on *lab.Node
	res, err = killed("daemon killed, its lifelines' ends lost", func(holder *lab.Node) error {
		on = holder
		return try.Err(holder.RunInput(dropEnds, "nft", "-f", "-"))
	})(g)
	if on != nil {
		_, undone := on.Run("nft", "delete", "table", "inet", "unheard")
		err = errors.Join(err, undone)
	}
	return res, err
}

// KilledPassingOn is KilledForGood in the midst of a handover, a little later in each run: the command needs some 20 ms until it asks.
func KilledPassingOn() Fault {
	const first, most, step = 10 * time.Millisecond, 60 * time.Millisecond, 3 * time.Millisecond
	after := first
	return func(g *Group) (*Result, error) {
		var wait sync.WaitGroup
		defer wait.Wait()
		return killed("daemon killed during a handover", func(holder *lab.Node) error {
			wait.Go(func() { _, _, _ = Keepvip{}.Command(holder, "handover", "--socket", Socket(holder)) }) // it fails where the daemon is gone
			time.Sleep(after)
			if after += step; after > most {
				after = first
			}
			return nil
		})(g)
	}
}

// killed is KilledForGood after something else has happened to the holder.
func killed(name string, before func(holder *lab.Node) error) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		var victim *lab.Node
		res := try.Get(g.silenced(name, func(m *lab.Measurement, holder *lab.Node) (f standstill) {
			victim = holder
			try.Do(before(holder))
			f.began = m.Mark("kill -9 of the daemon on %s", holder.Label)
			try.Do(g.Daemon(holder).Kill9())
			try.Do(within(10*time.Second, "the daemon has ended", func() bool { return !g.Daemon(holder).Alive() }))
			f.stood = g.Lab.Now()
			try.Do(within(10*time.Second, "the addresses are off", func() bool { return !slices.ContainsFunc(g.Addresses, holder.Holds) }))
			time.Sleep(g.span())
			return f
		}))
		return res, g.Start(victim)
	}
}

// standstill is when a daemon was told to stand still, from when on it did, which is later on a machine with much to do, and when it went on;
// 0 for never.
type standstill struct{ began, stood, woken time.Duration }

// silenced measures around a fault after which the holder has to be silent.
func (g *Group) silenced(name string, fault func(*lab.Measurement, *lab.Node) standstill) (*Result, error) {
	return atTheHolder(func() (*Result, error) { return g.fallsSilent(name, fault) })
}

func (g *Group) fallsSilent(name string, fault func(*lab.Measurement, *lab.Node) standstill) (_ *Result, err error) {
	defer try.Catch(&err)
	try.Get(g.Settle())
	for _, n := range g.Lab.Nodes { // a busy machine may move the address meanwhile
		ticker := try.Get(n.StartTicker())
		defer ticker.Close()
	}
	for _, a := range g.Addresses {
		stop := try.Get(g.Lab.Follow(g.Lab.Client.Namespace, a))
		defer stop(0)
	}
	watch := try.Get(g.Lab.WatchCarried(g.Addresses...))
	var f standstill
	var holder *lab.Node
	res, err := g.run(name, lab.MeasureConfig{}, func(m *lab.Measurement, h *lab.Node) time.Duration {
		try.Do(within(SettleLimit, h.Label+" advertises, or has lost the address", func() bool { return m.Advertiser() == h.ID || !g.holds(h, g.Addresses[0]) }))
		if m.Advertiser() != h.ID {
			try.Do(errNotHeld)
		}
		holder, f = h, fault(m, h)
		return f.began
	})
	frames := watch.Stop()
	if err != nil {
		return nil, err
	}
	return res, g.judge(res, holder, frames, f)
}

func (g *Group) judge(res *Result, holder *lab.Node, frames []lab.Carried, s standstill) error {
	last, ok := res.Report.LastAdvert(holder.ID, s.stood)
	if !ok {
		return fmt.Errorf("trial: %s has not advertised", holder.Label)
	}
	res.Silence = &Silence{Gone: -1}
	// The kernel counts in ticks, and the capture is a moment behind.
	end := last.At + g.Settings[0].lease() + 10*time.Millisecond
	again := time.Duration(1<<62 - 1)
	for _, b := range res.Report.Binds {
		if b.Added && b.Node == holder.ID && b.At > end {
			again = min(again, b.At) // it was elected anew
		}
	}
	for _, f := range frames {
		if f.Kind == lab.KindReset && s.woken > 0 && f.At >= s.woken {
			continue // the woken holder tells its clients that their connections are gone
		}
		if f.Node == holder.ID && f.At > end && f.At < again {
			res.Silence.Late++
			if res.Note == "" {
				res.Note = fmt.Sprintf("%s of %s %s ms after the lease", f.Kind, f.Address, lab.Milliseconds(f.At-end))
			}
		}
	}
	for _, a := range res.Report.Announcements {
		if s.woken > 0 && a.Node == holder.ID && a.At >= s.woken && a.At < again {
			res.Silence.Woken++
		}
	}
	for _, a := range g.Addresses {
		if at, off := res.Report.Unbound(holder.ID, a, s.began); off {
			res.Silence.Gone = max(res.Silence.Gone, at-s.began)
		} else if _, off = res.Report.Unbound(holder.ID, a, 0); off {
			res.Silence.Gone = max(res.Silence.Gone, 0) // it was gone before
		}
	}
	return nil
}

// OpenWithTwins is [Open] with a second NIC on the segment at each node.
func OpenWithTwins(host *lab.Host, cfg Config) (*Group, error) {
	return openBy(host, cfg, func(g *Group) {
		for _, n := range g.Lab.Nodes {
			try.Do(n.AddTwin("eth9"))
		}
		try.Do(g.StartAll())
	})
}

// frozenTwins freeze holders that have a second NIC on the segment.
func frozenTwins() []Case {
	twin := func(interval, length time.Duration, brief bool) Case {
		return Case{Name: fmt.Sprintf("%v, for %v", interval, length), Brief: brief, Run: inside(OpenWithTwins, Config{Addresses: bothVIPs, Interval: interval}, func(g *Group, times int) Findings {
			var r rivals
			for range times {
				res := try.Get(Frozen(length)(g))
				r.add(res, res.FaultAt+length)
			}
			return r.findings()
		})}
	}
	const quick, slow = 10 * time.Millisecond, 100 * time.Millisecond
	return []Case{twin(slow, time.Second, true), twin(slow, 5*time.Second, false), twin(quick, 5*time.Second, false)}
}

// rivals sums up several runs after each of which one node had to be silent. That others compete at the same time is told, but proves
// nothing: on a machine that starves its processes they do so by the protocol.
type rivals struct{ beside, two, outage time.Duration }

// add takes in a run, in which the old holder had to be silent up to the instant of that name.
func (r *rivals) add(res *Result, until time.Duration) {
	r.beside = max(r.beside, res.Report.Beside(res.Victim, res.FaultAt, until))
	r.two, r.outage = max(r.two, res.Two), max(r.outage, res.Outage)
}

func (r *rivals) findings() Findings {
	return Findings{
		took("the old holder beside another", r.beside, 0), told("any two nodes", r.two), told("longest outage", r.outage),
	}
}
