package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// frozenFor is for how long a daemon stands still, longer than its lease and than what the members give it.
const frozenFor = 2 * time.Second

// SpreadEvents are what connections have to outlive.
func SpreadEvents() []SpreadEvent {
	holder := func(x *SpreadMove) *lab.Node { return x.Holder }
	member := func(x *SpreadMove) *lab.Node { return x.Member }
	events := []SpreadEvent{
		{Name: "handover", Do: func(x *SpreadMove) (*lab.Node, error) {
			return nil, sequence(x.passesOn, x.watched, x.resumes, x.watched)
		}},
		{Name: "rolling restart", Do: func(x *SpreadMove) (*lab.Node, error) {
			for _, n := range x.Lab.Nodes {
				if err := sequence(x.terminated(n), x.started(n), x.settledAgain); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}},
		{Name: "a member joins", Running: 2, Do: func(x *SpreadMove) (*lab.Node, error) {
			x.mark("the third begins")
			return nil, sequence(x.started(x.Lab.Nodes[2]), x.settledAgain, x.watched)
		}},
		{Name: "a member drains, the holder hands over, both return", Do: func(x *SpreadMove) (*lab.Node, error) {
			return nil, sequence(x.verb(x.Member, "drain"), x.watched, x.passesOn, x.watched, x.verb(x.Member, "resume"), x.resumes, x.watched)
		}},
	}
	for _, who := range []struct {
		name string
		node func(*SpreadMove) *lab.Node
	}{{"the holder", holder}, {"a member", member}} {
		events = append(events, nodeEvents(who.name, who.node)...)
	}
	return events
}

// SpreadEventsOf are those of the names, in the order of all.
func SpreadEventsOf(names ...string) []SpreadEvent {
	return slices.DeleteFunc(SpreadEvents(), func(e SpreadEvent) bool { return !slices.Contains(names, e.Name) })
}

// TurnedOnAndOff has a group whose load is not spread spread it for a while, in which there are so many connections, and then no more. Reversed
// the holder is the first to begin and the last to end.
func TurnedOnAndOff(count int, reversed bool) SpreadEvent {
	return SpreadEvent{Name: "turned on and off", Own: true, Do: func(x *SpreadMove) (*lab.Node, error) {
		x.mark("spread from now on")
		on := func() error { return x.Turn(true, reversed) }
		off := func() error { return x.Turn(false, reversed) }
		hold := func(n int) func() error { return func() error { return x.Hold(n) } }
		return nil, sequence(on, hold(count), off, x.ends, hold(count/3), x.watched)
	}}
}

// PortAdded has a group that spreads another port spread that of so many connections more, too.
func PortAdded(count int) SpreadEvent {
	return SpreadEvent{Name: "a port is added", Own: true, Do: func(x *SpreadMove) (*lab.Node, error) {
		x.mark("spread from now on")
		return nil, sequence(func() error { return x.Turn(true, false) }, func() error { return x.Hold(count) }, x.watched, x.watched)
	}}
}

// ends looks for what keeps connections that are not spread any more.
func (x *SpreadMove) ends() error {
	tables, err := x.Holder.Run("nft", "list", "tables")
	if err == nil && !strings.Contains(string(tables), "table ip keepvip-spread-apiserver.-ends\n") {
		err = fmt.Errorf("trial: on %s, which does not spread any more, there are these tables:\n%s", x.Holder.Label, tables)
	}
	return err
}

// nodeEvents happen to the holder, and to another member.
func nodeEvents(name string, who func(*SpreadMove) *lab.Node) []SpreadEvent {
	return []SpreadEvent{
		{Name: name + " drains and returns", Do: func(x *SpreadMove) (*lab.Node, error) {
			n := who(x)
			return nil, sequence(x.verb(n, "drain"), x.watched, x.verb(n, "resume"), x.watched)
		}},
		{Name: name + "'s keepvip: SIGTERM and start", Do: func(x *SpreadMove) (*lab.Node, error) {
			n := who(x)
			return nil, sequence(x.terminated(n), x.watched, x.started(n), x.settledAgain, x.watched)
		}},
		{Name: name + "'s keepvip: kill -9 and start", Do: func(x *SpreadMove) (*lab.Node, error) {
			n := who(x)
			x.mark("kill -9 of keepvip on %s", n.Label)
			return nil, sequence(x.Daemon(n).Kill9, x.watched, x.started(n), x.settledAgain, x.watched)
		}},
		{Name: name + "'s keepvip: SIGSTOP", Do: func(x *SpreadMove) (*lab.Node, error) {
			n := who(x)
			x.mark("SIGSTOP of keepvip on %s", n.Label)
			if err := x.Daemon(n).Stop(); err != nil {
				return nil, err
			}
			time.Sleep(frozenFor)
			x.mark("SIGCONT")
			return nil, sequence(x.Daemon(n).Cont, x.settledAgain, x.watched)
		}},
		died(SpreadEvent{Name: name + "'s node dies", Stall: 900 * time.Millisecond, Long: true}, who),
		died(SpreadEvent{Name: name + "'s node dies, right after clients have connected", Stall: 900 * time.Millisecond, Told: unknownToldLimit}, who),
		died(SpreadEvent{Name: name + "'s node dies, and clients say nothing", Stall: 900 * time.Millisecond, Long: true, Silent: true}, who),
		died(SpreadEvent{Name: name + "'s node dies, and the other members are clients", Stall: 900 * time.Millisecond, Silent: true, From: membersBut(who)}, who),
	}
}

// membersBut are the members but for one.
func membersBut(who func(*SpreadMove) *lab.Node) func(*SpreadMove) []*lab.Namespace {
	return func(x *SpreadMove) (out []*lab.Namespace) {
		for _, n := range x.Lab.Nodes {
			if n != who(x) {
				out = append(out, n.Namespace)
			}
		}
		return out
	}
}

// died is an event in which a node dies. Clients of it that have not been told are watched for as long as anything is waited for: how late they are is a
// figure.
func died(e SpreadEvent, who func(*SpreadMove) *lab.Node) SpreadEvent {
	e.Do = func(x *SpreadMove) (*lab.Node, error) {
		n := who(x)
		x.mark("%s dies", n.Label)
		_, err := n.PowerOff()
		x.unserve(n)
		time.Sleep(2 * time.Second) // what those that live go through meanwhile
		for end := time.Now().Add(SettleLimit); !x.product.Off && x.alive(n) > 0 && time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond)
		}
		return n, err
	}
	e.Undo = func(x *SpreadMove) error {
		n := who(x)
		if err := n.PowerOn(); err != nil {
			return err
		}
		return sequence(func() error { return x.serve(n) }, x.started(n))
	}
	return e
}

// verb runs a command of keepvip on the node.
func (x *SpreadMove) verb(n *lab.Node, args ...string) func() error {
	return func() error {
		x.mark("keepvip %v on %s", args, n.Label)
		return x.product.order(n, args...)
	}
}

// passesOn has the holder hand over. Where a busy machine has moved the address since, it is the holder by now that does.
func (x *SpreadMove) passesOn() (err error) {
	for range 5 {
		if err = x.verb(x.Holder, "handover")(); err == nil {
			return nil
		}
		now, lost := x.SettleAny()
		if lost != nil || now == x.Holder {
			return errors.Join(err, lost)
		}
		x.Holder = now
	}
	return err
}

// resumes has the node that has handed over take part again.
func (x *SpreadMove) resumes() error { return x.verb(x.Holder, "resume")() }

// terminated ends keepvip on the node in order.
func (x *SpreadMove) terminated(n *lab.Node) func() error {
	return func() error {
		x.mark("SIGTERM to keepvip on %s", n.Label)
		return x.Group.terminated(n)
	}
}

func (x *SpreadMove) started(n *lab.Node) func() error {
	return func() error {
		x.Measurement.Mark("keepvip starts on %s", n.Label)
		return x.Start(n)
	}
}

// watched lets what has happened take effect.
func (x *SpreadMove) watched() error {
	time.Sleep(x.span())
	return nil
}

// settledAgain waits until there is one holder, and all members that run serve.
func (x *SpreadMove) settledAgain() error { return x.Ready() }

// atRandom is a walk of so many steps, each at one of the nodes. Connections are begun before it and after each step, and all of them are
// to outlive all that follows. It is the same for a seed, but for the times. A member that is drained returns before the next step: of two
// members that get no new connections at a time, the second one that a packet is given knows only those of the latter.
func atRandom(seed uint64, steps, each int) SpreadEvent {
	return SpreadEvent{Name: fmt.Sprintf("at random, seed %d", seed), Do: func(x *SpreadMove) (*lab.Node, error) {
		r := rand.New(rand.NewPCG(seed, 19))
		for range steps {
			n := x.Lab.Nodes[r.IntN(len(x.Lab.Nodes))]
			if err := sequence(x.step(n, r.IntN(6), each), x.settledAgain, func() error { return x.Hold(each) }); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}}
}

// step does one thing at a node, and undoes it, with connections that are begun meanwhile.
func (x *SpreadMove) step(n *lab.Node, what, each int) func() error {
	hold := func() error { return x.Hold(each) }
	switch what {
	case 0:
		return func() error { return sequence(x.verb(n, "drain"), x.watched, hold, x.verb(n, "resume")) }
	case 1:
		return func() error { return sequence(x.terminated(n), x.watched, hold, x.started(n)) }
	case 2:
		return func() error { return sequence(x.terminated(n), x.started(n)) }
	case 3:
		return func() error {
			x.mark("kill -9 of keepvip on %s", n.Label)
			return sequence(x.Daemon(n).Kill9, x.watched, hold, x.started(n))
		}
	case 4:
		return func() error {
			x.mark("SIGSTOP of keepvip on %s for a second", n.Label)
			return sequence(x.Daemon(n).Stop, x.watched, hold, x.Daemon(n).Cont)
		}
	}
	return func() error {
		holders := x.Holders()
		if len(holders) != 1 {
			return nil
		}
		return sequence(x.verb(holders[0], "handover"), hold, x.verb(holders[0], "resume"))
	}
}
