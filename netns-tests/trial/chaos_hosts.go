package trial

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	// unheard is how long an address may be silent that a deaf node holds: it asks after 400 ms, for 160 ms (docs/protocol.md), and a takeover
	// follows. A Backup that becomes deaf moves nothing.
	unheard = time.Second
	// unbound is how long the other family may be away with a node that has lost it: it is passed on, after the daemon has been told.
	unbound = takeover
	// renewed is how long an address elected with Raft may be silent because of a flush: its lease is renewed by a transaction, which waits for that of the
	// flush, and a kernel with much to do takes a tenth of a second for each.
	renewed = raftPass
	// lame is how long it may be with such a node that was given the address by another fault: a fit one that has had a probe less than 250 ms
	// before asks too late, and then waits a second for whoever was given the address (docs/protocol.md).
	lame = unbound + 1100*time.Millisecond
)

// chaosHostKinds are what happens to the host under the address: its NIC, its own addresses, its tables, its port of the switch.
func chaosHostKinds() []chaosKind {
	return []chaosKind{
		{name: "deaf", weight: 6, vrrp: unheard, raft: elected, others: planned, heals: true},
		{name: "ruleset flushed", weight: 5, vrrp: planned, raft: renewed, others: planned},
		{name: "MAC changed", weight: 5, vrrp: planned, raft: planned, others: planned},
		{name: "own address applied again", weight: 4, vrrp: planned, raft: planned, others: planned},
		{name: "own address away", weight: 3, vrrp: takeover, raft: elected, others: planned},
		{name: "IPv6 off", weight: 5, vrrp: planned, raft: planned, others: planned, second: unbound},
		{name: "port blocked late", weight: 5, begin: (*Chaos).startBlocked, end: opened, vrrp: planned, raft: elected, others: planned, two: true, away: true},
	}
}

// startBlocked ends the daemon and starts it again behind a port that forwards nothing yet, as a switch with spanning tree does to a node that boots.
func (c *Chaos) startBlocked(n *chaosNode, _ Injection) (err error) {
	defer try.Catch(&err)
	try.Do(n.daemon.Signal(unix.SIGTERM))
	try.Get(n.daemon.Wait(5 * time.Second))
	try.Get(n.CutPort())
	return c.start(n)
}

func opened(_ *Chaos, n *chaosNode, _ Injection) error { return try.Err(n.HealPort()) }
