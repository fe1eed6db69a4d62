package trial

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// SpreadEvent is something that connections have to outlive.
type SpreadEvent struct {
	Name string
	// Do makes it happen, and returns when it is over and was watched for long enough. It returns the node whose connections cannot be
	// kept, nil for none.
	Do func(x *SpreadMove) (dead *lab.Node, err error)
	// Undo makes the group whole again, when the connections are gone. Nil: it is.
	Undo func(x *SpreadMove) error
	// Stall is for how long a connection may stand still, 0 = 50 ms.
	Stall time.Duration
	// Told is when clients of the dead are told at the latest, 0 = toldLimit.
	Told time.Duration
	// Ends tells that connections end by it. Own tells that some are the holder's own, and end where it ceases to advertise.
	Ends, Own bool
	// Long has the connections live for so long before it that the members know each other's clients.
	Long bool
	// Silent has nothing be said on the connections.
	Silent bool
	// Running is how many of the nodes run before, 0 = all.
	Running int
	// From are the hosts that hold connections. Nil: the clients on the link and behind the router.
	From func(x *SpreadMove) []*lab.Namespace
}

// SpreadMove is an event that happens to a group.
type SpreadMove struct {
	*Spreading
	Measurement    *lab.Measurement
	Holder, Member *lab.Node // Member is one of the others
	At             time.Duration
}

// mark notes the beginning, or another moment of it.
func (x *SpreadMove) mark(format string, args ...any) {
	at := x.Measurement.Mark(format, args...)
	if x.At == 0 {
		x.At = at
	}
}

// Kept is what an event did to connections.
type Kept struct {
	Count     int           // all connections
	Lost      int           // those that could have been kept
	How       string        // how these were lost
	Stall     time.Duration // the longest of those that live
	Disguised int           // connections whose client the server saw under another address
	Dead      int           // connections of the node that died
	Told      time.Duration // from its death until the client of the last of them was told; 0 without
	Silent    int           // of these, those that were never told
	Silences  int           // how often the holder had ceased to advertise
}

// toldLimit is when a client has been told at the latest that the server of its connection is dead: the others have decided so 350 ms after they heard it
// last, and the holder asks the clients that they know from 20 ms later on. Of a connection that no other member knows it is TCP that asks:
// the client retransmits 200 ms after a ping that was not answered, when nobody knows yet of the death, and 400 ms later.
const toldLimit, unknownToldLimit = 450 * time.Millisecond, 750 * time.Millisecond

// Keep holds connections, has the event happen, and makes the group whole again. What ends connections to a holder has to happen to one that has a lease.
func (s *Spreading) Keep(e SpreadEvent, count int) (Kept, error) {
	return atTheHolder(func() (Kept, error) { return s.keep(e, count) })
}

func (s *Spreading) keep(e SpreadEvent, count int) (_ Kept, err error) {
	defer try.Catch(&err)
	try.Do(s.Ready())
	x := try.Get(s.move(e))
	var dead *lab.Node
	s.every, s.from = 0, nil
	if e.Silent {
		s.every = time.Hour
	}
	if e.From != nil {
		s.from = e.From(x)
	}
	if err = s.Hold(count); err == nil && e.Long && !s.product.Off {
		err = s.clientsAreKnown(count)
	}
	if err == nil {
		time.Sleep(200*time.Millisecond + rand.N(x.Settings[0].Interval))
		dead, err = e.Do(x)
	}
	reports := s.Release()
	r := x.Measurement.Stop()
	if err != nil {
		return Kept{}, fmt.Errorf("trial: %s: %w", e.Name, err)
	}
	kept := keptOf(reports, dead, x.At)
	kept.Silences = r.Silences(0)
	if kept.Lost > 0 && !e.Ends && !(s.product.Off && kept.Silences > 0) {
		r.Timeline(os.Stdout, x.At)
		fmt.Println(lostOf(reports, x.At))
	}
	if e.Undo != nil {
		try.Do(e.Undo(x))
	}
	if e.Ends && x.At > 0 && !r.Leads(x.Holder.ID, x.At) {
		return kept, errNotHeld
	}
	return kept, nil
}

func (s *Spreading) move(e SpreadEvent) (_ *SpreadMove, err error) {
	defer try.Catch(&err)
	x := &SpreadMove{Spreading: s, Measurement: try.Get(s.watch(e.Name, lab.MeasureConfig{NoDirect: true}))}
	try.Get(until(SettleLimit, "the holder advertises", func() bool { return x.Measurement.Advertiser() != 0 }))
	x.Holder = try.Get(s.SettleAny())
	for _, n := range s.Running() {
		if n != x.Holder {
			x.Member = n
		}
	}
	return x, nil
}

// lostOf lists the connections that were lost, for the timeline, in times from its beginning.
func lostOf(reports []lab.HeldReport, at time.Duration) string {
	var lines []string
	for _, r := range reports {
		for _, c := range r.Conns {
			if c.Lost > 0 {
				lines = append(lines, fmt.Sprintf("%s %s to %s, served by %s, began %+v ms, stood still for %v ms from %+v ms on, lost %+v ms: %s", r.Client, c.Own, r.Target, c.Node,
					(c.Began-at).Milliseconds(), c.Stall.Milliseconds(), (c.StallAt-at).Milliseconds(), (c.Lost-at).Milliseconds(), c.How))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// keptOf counts.
func keptOf(reports []lab.HeldReport, dead *lab.Node, at time.Duration) (k Kept) {
	var how []string
	for _, r := range reports {
		k.Count += len(r.Conns)
		k.Disguised += r.Disguised()
		could := r
		if dead != nil {
			could = r.Without(dead)
			k.died(r.Of(dead), at)
		}
		k.Stall = max(k.Stall, could.Longest().Stall)
		if lost := could.Lost(); lost > 0 {
			k.Lost += lost
			how = append(how, fmt.Sprintf("%s to %s: %s", r.Client, r.Target, could.Failures()))
		}
	}
	k.How = strings.Join(how, "; ")
	return k
}

// died counts the connections of a node that is no more.
func (k *Kept) died(r lab.HeldReport, at time.Duration) {
	k.Dead += len(r.Conns)
	for _, c := range r.Conns {
		if c.Lost == 0 || c.How == lab.NoAnswer {
			k.Silent++
			continue
		}
		k.Told = max(k.Told, c.Lost-at)
	}
}

// Findings compares with what is promised of the event.
func (k Kept) Findings(e SpreadEvent) Findings {
	stall := e.Stall
	if stall == 0 {
		stall = 50 * time.Millisecond
	}
	what := "lost"
	if k.How != "" {
		what += " (" + k.How + ")"
	}
	out := Findings{none(what, k.Lost)}
	out = append(out, took("longest stall", k.Stall, stall))
	if e.From == nil { // a member that holds the address has more than one of its own
		out = append(out, none("under another address", k.Disguised))
	}
	if k.Dead > 0 {
		out = append(out, took("the rest is told after", k.Told, cmp.Or(e.Told, toldLimit)), none("of the rest never told", k.Silent))
	}
	return out
}

// told are the same figures of the run without spread, which promises nothing.
func (k Kept) told() Findings {
	return Findings{
		{What: "without spread: lost", Got: float64(k.Lost + k.Dead), Limit: -1, Unit: "times"},
		told("longest stall of the others", k.Stall),
	}
}
