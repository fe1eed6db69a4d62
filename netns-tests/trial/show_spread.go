package trial

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// SpreadShows are what is promised of a load that is spread over the members, beside the same without it. They are many, and each is in a
// lab of its own: the bench runs them.
func SpreadShows() []Show {
	return []Show{
		ofCases("spread shares", sharesConnections()),
		ofCases("spread keeps", keepsConnections()),
		ofCases("spread on a host", spreadHosts()),
		ofCases("spread keeps watches", keepsWatches()),
		ofCases("spread, tier", tierConnections()),
		ofCases("follower", followed()),
		{Name: "spread: nothing left behind", Run: inside(Prepare, Config{Product: WithSpread{}, Addresses: bothVIPs, Lab: lab.Config{OffLink: true}}, spreadLeavesNothing)},
		{Name: "spread, masquerade: shares, a drain, a death", Run: inside(OpenSpread, SpreadConfig{Product: WithSpread{Masquerade: true}}, masqueraded)},
		{Name: "spread, masquerade: backends without keepvip", Run: inside(OpenSpread, Backends(), backed)},
		{Name: "spread: path MTU 1400 behind the router", Run: inside(OpenSpread, SpreadConfig{}, narrowRouter)},
		{Name: "spread: SYN flood", Run: synFlood},
		{Name: "spread: tracked connections", Run: trackedConnections},
		{Name: "spread: idle connections", Run: spreadIdle(WithSpread{}, 100_000, 1000)},
		{Name: "spread, masquerade: idle connections", Run: spreadIdle(WithSpread{Masquerade: true}, 30_000, 4000)},
		ofCosts("spread, latency", latency),
		ofCosts("spread, processor", processor),
	}
}

// keepsConnections are the moves that no connection may be lost by.
func keepsConnections() []Case {
	var list []Case
	for _, e := range SpreadEvents() {
		list = append(list, Case{Name: e.Name, Run: func(host *lab.Host, times int) (Findings, error) {
			with, err := kept(host, e, max(times/4, 1), false) // each is one of hundreds of connections
			if err != nil {
				return nil, err
			}
			without, err := kept(host, e, 1, true)
			if err != nil {
				return nil, fmt.Errorf("without spread: %w", err)
			}
			return append(with.Findings(e), without.told()...), nil
		}})
	}
	return append(list,
		Case{Name: "a check fails and passes again", Run: inside(OpenSpread, SpreadConfig{Product: WithSpread{Checked: true}}, unhealthy)},
		Case{Name: "at random", Run: inside(OpenSpread, SpreadConfig{}, walksAtRandom)},
	)
}

func walksAtRandom(s *Spreading, times int) Findings {
	var sum Kept
	for range times {
		e := atRandom(rand.Uint64(), 5, 40)
		k := try.Get(s.Keep(e, 40))
		if k.How != "" {
			k.How += ", " + e.Name
		}
		sum.add(k)
	}
	return append(sum.Findings(SpreadEvent{}), Measured{What: "connections", Got: float64(sum.Count), Limit: -1})
}

// unhealthy has the check of a member fail for a while, and then that of the holder: connections stay, and new ones go to the others.
func unhealthy(s *Spreading, _ int) Findings {
	var sum Kept
	for _, who := range []func(*SpreadMove) *lab.Node{func(x *SpreadMove) *lab.Node { return x.Member }, func(x *SpreadMove) *lab.Node { return x.Holder }} {
		k := try.Get(s.Keep(SpreadEvent{Name: "a check fails", Do: func(x *SpreadMove) (*lab.Node, error) {
			n := who(x)
			x.mark("%s is unhealthy", n.Label)
			if _, err := n.WriteFile("unhealthy", "", 0o644); err != nil {
				return nil, err
			}
			others := s.Others(n)
			return nil, sequence(
				func() error { return s.ServedBy(others...) }, func() error { return s.Hold(spreadConnected / 4) },
				func() error { return os.Remove(Unhealthy(n)) }, x.settledAgain, x.watched)
		}}, spreadConnected))
		sum.add(k)
	}
	return sum.Findings(SpreadEvent{})
}

// kept has an event happen so many times, and adds up what it did.
func kept(host *lab.Host, e SpreadEvent, times int, off bool) (sum Kept, err error) {
	defer try.Catch(&err)
	var s *Spreading
	defer func() {
		if s != nil {
			s.Close()
		}
	}()
	for range times {
		if s == nil {
			s = try.Get(OpenSpread(host, SpreadConfig{Running: e.Running, Product: WithSpread{Off: off}}))
		}
		k, err := s.Keep(e, spreadConnected)
		if err != nil {
			return sum, fmt.Errorf("%w\n%s", err, s.Logs())
		}
		sum.add(k)
		if e.Running > 0 { // it happens once to a group
			s.Close()
			s = nil
		}
	}
	return sum, nil
}

func (k *Kept) add(o Kept) {
	k.Count, k.Lost, k.Disguised, k.Dead, k.Silent = k.Count+o.Count, k.Lost+o.Lost, k.Disguised+o.Disguised, k.Dead+o.Dead, k.Silent+o.Silent
	k.Stall, k.Told, k.How = max(k.Stall, o.Stall), max(k.Told, o.Told), cmp.Or(o.How, k.How)
}

// sharesConnections are groups of all sizes whose members share new connections.
func sharesConnections() []Case {
	var list []Case
	for _, nodes := range []int{2, 3, 5, 7} {
		list = append(list, Case{Name: fmt.Sprintf("%d members", nodes), Run: inside(OpenSpread, SpreadConfig{Nodes: nodes}, sharedByAll)})
	}
	return append(list,
		Case{Name: "3 members, one of them drained", Run: inside(OpenSpread, SpreadConfig{}, sharedByTwo)},
		Case{Name: "3 members, weights 1, 2 and 3", Run: inside(OpenSpread, SpreadConfig{Product: WithSpread{Weights: slotWeights}, V4: true}, weighted)},
		Case{Name: "a fourth member joins", Run: inside(OpenSpread, SpreadConfig{Nodes: 4, Running: 3}, fourthJoins)},
	)
}

func sharedByAll(s *Spreading, _ int) Findings { return s.shares(s.Lab.Nodes...) }

// sharedByTwo has one of three drained.
func sharedByTwo(s *Spreading, _ int) Findings {
	x := &SpreadMove{Spreading: s, Measurement: try.Get(s.watch("drained", lab.MeasureConfig{NoDirect: true}))}
	try.Do(sequence(x.verb(s.Lab.Nodes[1], "drain"), x.watched))
	return s.shares(s.Lab.Nodes[0], s.Lab.Nodes[2])
}

// shares is a part of shows, which catch its steps. It compares the shares of the members with what is promised of 10,000 connections and of 1,000. The promise is about three: of
// more members each has fewer connections, and chance is a larger part of its share.
func (s *Spreading) shares(members ...*lab.Node) (out Findings) {
	for _, c := range []struct {
		count int
		limit float64
	}{{10_000, 5}, {1000, 16}} {
		try.Do(s.manyPorts())
		for i, target := range s.Targets() {
			from := s.clients()[i%2]
			got := try.Get(s.Share(from, target, c.count, members...))
			out = append(out, got.Findings(len(members), c.limit*math.Sqrt(max(float64(len(members)-1)/2, 1)))...)
			out = append(out, none("under another address", got.Disguised))
		}
	}
	return out
}

// manyPorts lets clients use more source ports than tens of thousands of connections one after the other leave behind.
func (s *Spreading) manyPorts() (err error) {
	defer try.Catch(&err)
	for _, from := range s.clients() {
		try.Do(from.Sysctl("net/ipv4/ip_local_port_range", "2048 65535"))
	}
	return nil
}

var slotWeights = []int{1, 2, 3}

// weighted compares shares with slotWeights.
func weighted(s *Spreading, _ int) (out Findings) {
	const count = 10_000
	got := try.Get(s.Lab.Sample(s.Lab.Client.Namespace, s.Targets()[0], count))
	for i, n := range s.Lab.Nodes {
		want := float64(count*slotWeights[i]) / 6
		out = append(out, Measured{What: fmt.Sprintf("weight %d off by", slotWeights[i]), Got: 100 * math.Abs(float64(got.ByNode[n.Label])-want) / want, Limit: 8, Unit: "%"})
	}
	return append(out, none("failed", count-got.Served()))
}

// narrowRouter: what comes from members must fit the way behind the router, of which only the receiver is told.
func narrowRouter(s *Spreading, full bool) (out Findings) {
	for _, n := range s.Lab.Nodes {
		try.Do(n.StartDownloads(downloadTarget, DownloadSize))
	}
	try.Do(s.Lab.NarrowRouter(1400))
	times := sized(full, 60, 20)
	for _, a := range s.Addresses {
		began := time.Now()
		got, err := s.Lab.Download(s.Lab.OffLink.Namespace, netip.AddrPortFrom(a, DownloadPort), times, 5*time.Second)
		incomplete := 0
		for _, size := range got {
			incomplete += count(size != DownloadSize)
		}
		what := fmt.Sprintf("of %d downloads of %d octets from %s incomplete", times, DownloadSize, a)
		if err != nil && incomplete > 0 {
			what += " (" + err.Error()[:min(len(err.Error()), 200)] + ")"
		}
		out = append(out, none(what, incomplete), told("all within", time.Since(began)))
	}
	return out
}

// synFlood: neither the election nor connections may suffer from connections that nobody goes on with.
func synFlood(host *lab.Host, full bool) (_ Findings, err error) {
	defer try.Catch(&err)
	var out Findings
	for _, off := range []bool{false, true} {
		s := try.Get(OpenSpread(host, SpreadConfig{Product: WithSpread{Off: off}, V4: true}))
		found, err := s.flooded(sized(full, 50_000, 5_000), sized(full, 5*time.Second, 2*time.Second))
		s.Close()
		if err != nil {
			return nil, err
		}
		if off {
			found = found.of("without spread")
			for i := range found {
				found[i].Limit = -1
			}
		}
		out = append(out, found...)
	}
	return out, nil
}

// flooded begins connections from so many places that no two in a second are the same, as long as connection tracking has room for them.
func (s *Spreading) flooded(rate int, length time.Duration) (_ Findings, err error) {
	defer try.Catch(&err)
	try.Do(s.Lab.LoseBehindRouter())
	var sent int
	var took, busy, idle time.Duration
	before := s.said()
	k := try.Get(s.Keep(SpreadEvent{Name: "SYN flood", Do: func(x *SpreadMove) (_ *lab.Node, err error) {
		defer try.Catch(&err)
		frames := x.Lab.Client.ForgeSYNs(x.Holder.NICs[0].MAC, x.Targets()[0], min(rate*int(length.Seconds()), 150_000))

		idle, _ = try.Two(worked(time.Second, func() int { return 0 }))
		x.mark("the flood begins")
		f := try.Get(x.Lab.Flood(x.Lab.Client, frames, rate))
		busy, took = try.Two(worked(length, func() int { sent = f.Stop(); return sent }))
		return nil, x.watched()
	}}, spreadConnected))
	transitions := 0
	for i, after := range s.said() {
		transitions += after.changes - before[i].changes
	}
	each := (busy.Seconds()/took.Seconds() - idle.Seconds()) * took.Seconds() / float64(max(sent, 1)) * 1e6
	return Findings{
		{What: fmt.Sprintf("of %d SYNs a second", rate), Got: float64(sent) / took.Seconds(), Limit: -1, Unit: "sent"},
		{What: "each costs all hosts together", Got: each, Limit: -1, Unit: "us of a core"},
		{What: "the machine was busy", Got: 100 * busy.Seconds() / took.Seconds() / float64(runtime.NumCPU()), Limit: -1, Unit: "%"},
		none("transitions", transitions), none("lost", k.Lost), told("longest stall", k.Stall),
	}, nil
}

// worked waits, ends what was going on, and returns what all processors have done meanwhile, and what it took.
func worked(length time.Duration, end func() int) (busy, took time.Duration, err error) {
	defer try.Catch(&err)
	before := try.Get(lab.BusyTime())
	began := time.Now()
	time.Sleep(length)
	end()
	took = time.Since(began)
	after, err := lab.BusyTime()
	return after - before, took, err
}

// masqueraded has the holder translate: members share connections, keep them over a drain, and clients of one that dies are told.
func masqueraded(s *Spreading, _ bool) Findings {
	return s.translated(s.Lab.Nodes, SpreadEventsOf("a member drains and returns", "a member's node dies"))
}

// translated is a part of shows, which catch its steps: how these nodes share connections that are translated, and what events do to such.
func (s *Spreading) translated(sharing []*lab.Node, events []SpreadEvent) (out Findings) {
	for i, target := range s.Targets() {
		const count = 1000
		out = append(out, try.Get(s.Share(s.clients()[i%2], target, count)).Findings(len(sharing), 16)...)
	}
	for _, e := range events {
		k := try.Get(s.Keep(e, spreadConnected))
		k.Disguised = 0 // as it is with masquerade
		out = append(out, k.Findings(e).of(e.Name)...)
	}
	return out
}
