package trial

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// chaosKind is a kind of injection, and what it may cost.
type chaosKind struct {
	name   string
	weight int
	begin  func(c *Chaos, n *chaosNode, i Injection) error // nil: the fault of a node that has the name
	end    func(c *Chaos, n *chaosNode, i Injection) error // nil: over at once
	// vrrp and raft are for how long an address may be silent that the node holds; others are the same for one that it does not.
	vrrp, raft, others time.Duration
	// second is what the other family of a dual-stack entry may be silent that the node holds; 0: the same as the first.
	second time.Duration
	// two tells that both halves of a link may have a holder of VRRP, until the link is whole again (docs/fence.md).
	two bool
	// heals tells that the node may hold the address all the time and answer nobody, so that two may have it from the end until it has heard the
	// other one (docs/protocol.md).
	heals bool
	// away tells that nobody reaches the node: what it says of itself cannot be compared with anything.
	away bool
	// adverts and words are the ways on which advertisements and members' messages of the node are lost; nil: they are not.
	adverts, words *lab.Direction
}

const (
	planned  = 20 * time.Millisecond   // an address that is passed on is not silent (docs/failure-modes.md); what a busy machine adds comes on top
	takeover = 400 * time.Millisecond  // an Active_Down_Interval at 100 ms (361 ms), the tie-break delay of equals (12 ms), binding and announcing
	elected  = 1500 * time.Millisecond // raft, as long as there is a majority: a heartbeatTimeout of 500 ms, and one more each time that two stand at once
	raftPass = 100 * time.Millisecond  // leadership is passed on: 12 to 42 ms (docs/measurements.md), with synced writes of two disks
)

// both and round are how long two may answer when an address is passed on: the former holder serves it until it has heard that the next one has
// announced it (docs/protocol.md). Only one of them answers ARP and neighbour discovery, and by Raft one gives the address up before
// the other may have it: then it is a round of questions, in which one answers at the beginning and the other at the end.
const (
	both  = 60 * time.Millisecond
	round = 10 * time.Millisecond
)

// healed is how long two may answer after a link is whole again: until one has heard the other's next advertisement (docs/fence.md), and
// has let go.
const healed = 100*time.Millisecond + both

// chaosKinds are all kinds.
func chaosKinds() []chaosKind {
	kinds := chaosRows()
	for i, k := range kinds {
		if k.begin == nil {
			kinds[i].begin, kinds[i].end = ofNode(nodeFaultOf(k.name))
		}
	}
	return kinds
}

// chaosRows are their rows.
func chaosRows() []chaosKind {
	lose := func(direction lab.Direction, matches ...string) func(*Chaos, *chaosNode, Injection) error {
		return func(_ *Chaos, n *chaosNode, _ Injection) error { return n.LoseAll(direction, matches...) }
	}
	found := func(_ *Chaos, n *chaosNode, _ Injection) error { return n.LoseNothing() }
	const vrrp, said, called = "meta l4proto 112", "meta l4proto udp th dport 9646", "meta l4proto tcp th dport 9646"
	const answered = "meta l4proto tcp th sport 9646"
	kinds := []chaosKind{
		{name: "reload", weight: 14, begin: (*Chaos).reload, end: (*Chaos).reloadBack, vrrp: planned, raft: raftPass, others: planned},
		{name: "invalid reload", weight: 5, begin: (*Chaos).reloadInvalid, vrrp: planned, raft: planned, others: planned},
		{name: "handover", weight: 6, begin: verb("handover"), vrrp: planned, raft: raftPass, others: planned},
		{name: "drain", weight: 4, begin: verb("drain"), end: verb("resume"), vrrp: planned, raft: raftPass, others: planned},
		{name: "hold", weight: 4, begin: verb("hold"), end: verb("resume"), vrrp: planned, raft: raftPass, others: planned},
		{name: "SIGTERM", weight: 5, begin: ofDaemon(func(p *lab.Process) error { return p.Signal(unix.SIGTERM) }), end: (*Chaos).startAgain, vrrp: planned, raft: raftPass, others: planned},
		{name: "kill -9", weight: 8, begin: ofDaemon((*lab.Process).Kill9), end: (*Chaos).startAgain, vrrp: takeover, raft: elected, others: planned},
		{name: "SIGSTOP", weight: 8, begin: ofDaemon((*lab.Process).Stop), end: ofDaemon((*lab.Process).Cont), vrrp: takeover, raft: elected, others: planned},
		{name: "second process", weight: 4, begin: (*Chaos).second, vrrp: planned, raft: planned, others: planned},
		{name: "cleanup beside", weight: 2, begin: (*Chaos).cleanup, vrrp: planned, raft: planned, others: planned},
		{name: "clock step", weight: 4, begin: stepClock, end: ofDaemon(func(p *lab.Process) error { return p.StepClock(0) }), vrrp: planned, raft: planned, others: planned},
		{name: "cable", weight: 6, vrrp: takeover, raft: elected, others: planned, away: true},
		{name: "link down", weight: 4, vrrp: takeover, raft: elected, others: planned, away: true},
		{name: "port cut", weight: 5, vrrp: takeover, raft: elected, others: planned, two: true, away: true},
		{name: "members cut off", weight: 4, begin: lose(lab.Both, vrrp, said, called, answered), end: found, vrrp: takeover, raft: elected, others: planned, two: true},
	}
	for _, way := range []struct {
		name      string
		direction lab.Direction
	}{{"in and out", lab.Both}, {"in", lab.In}, {"out", lab.Out}} {
		kinds = append(
			kinds,
			chaosKind{name: "112 lost, " + way.name, weight: 3, begin: lose(way.direction, vrrp), end: found, vrrp: takeover, raft: planned, others: takeover, adverts: &way.direction},
			chaosKind{name: "UDP 9646 lost, " + way.name, weight: 2, begin: lose(way.direction, said), end: found, vrrp: planned, raft: planned, others: planned, words: &way.direction},
			chaosKind{name: "TCP 9646 lost, " + way.name, weight: 2, begin: lose(way.direction, called, answered), end: found, vrrp: planned, raft: elected, others: planned},
		)
	}
	return append(kinds, chaosHostKinds()...)
}

// ofNode has a fault of a node as the soak calls it.
func ofNode(f nodeFault) (begin, end func(*Chaos, *chaosNode, Injection) error) {
	begin = func(_ *Chaos, n *chaosNode, _ Injection) error { return f.begin(n.Node) }
	if f.undo != nil {
		end = func(_ *Chaos, n *chaosNode, _ Injection) error { return f.undo(n.Node) }
	}
	return begin, end
}

func chaosKindOf(name string) chaosKind {
	kinds := chaosKinds()
	if i := slices.IndexFunc(kinds, func(k chaosKind) bool { return k.name == name }); i >= 0 {
		return kinds[i]
	}
	return chaosKind{name: name}
}

// verb runs a command for one entry, whose exit status may be 0 or say that nobody could take the address.
func verb(args ...string) func(*Chaos, *chaosNode, Injection) error {
	return func(c *Chaos, n *chaosNode, i Injection) error {
		code, said, err := c.command(n, append(args, c.entries[i.Entry].name)...)
		if err != nil || code == 0 || code == 1 && args[0] == "handover" || code == 3 || code == 4 {
			return err
		}
		return fmt.Errorf("keepvip %v on %s: exit status %d: %s", args, n.Label, code, said)
	}
}

// ofDaemon is what is done to the node's daemon.
func ofDaemon(do func(*lab.Process) error) func(*Chaos, *chaosNode, Injection) error {
	return func(_ *Chaos, n *chaosNode, _ Injection) error { return do(n.daemon) }
}

func (c *Chaos) startAgain(n *chaosNode, _ Injection) (err error) {
	defer try.Catch(&err)
	try.Get(n.daemon.Wait(5 * time.Second))
	return c.start(n)
}

func stepClock(_ *Chaos, n *chaosNode, i Injection) error {
	by := []time.Duration{time.Hour, -time.Hour, 20 * time.Second, -20 * time.Second}[i.Detail%4]
	return n.daemon.StepClock(by)
}
