package trial

import (
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

const (
	// unheard is how long an address may be silent that a deaf node holds: it asks after 400 ms, for 160 ms (docs/protocol.md), and a takeover
	// follows. A deaf Backup asks sooner, and may become Active before it knows: then the holder yields to it until it says so. The page of failure
	// modes measures both.
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
		{name: "deaf", weight: 6, begin: deafen, end: undeafen, vrrp: unheard, raft: elected, others: unheard, heals: true},
		{name: "ruleset flushed", weight: 5, begin: flushRules, vrrp: planned, raft: renewed, others: planned},
		{name: "MAC changed", weight: 5, begin: changeMAC, end: changeMACBack, vrrp: planned, raft: planned, others: planned},
		{name: "own address applied again", weight: 4, begin: applyAgain, vrrp: planned, raft: planned, others: planned},
		{name: "own address away", weight: 3, begin: dropOwn, end: putBackOwn, vrrp: takeover, raft: elected, others: planned},
		{name: "IPv6 off", weight: 5, begin: ipv6Off, end: ipv6On, vrrp: planned, raft: planned, others: planned, second: unbound},
		{name: "port blocked late", weight: 5, begin: (*Chaos).startBlocked, end: healPort, vrrp: planned, raft: elected, others: planned, two: true, away: true},
	}
}

func deafen(_ *Chaos, n *chaosNode, _ Injection) error { return n.LoseAll(lab.In, "") }

func undeafen(_ *Chaos, n *chaosNode, _ Injection) error { return n.LoseNothing() }

func flushRules(_ *Chaos, n *chaosNode, _ Injection) error { return Flush(n.Node) }

func changeMAC(_ *Chaos, n *chaosNode, i Injection) error {
	return n.ChangeMAC(net.HardwareAddr{0x02, 0x6c, byte(n.ID), byte(i.Detail >> 16), byte(i.Detail >> 8), byte(i.Detail)})
}

func changeMACBack(_ *Chaos, n *chaosNode, _ Injection) error { return n.ChangeMAC(n.plugged) }

func applyAgain(_ *Chaos, n *chaosNode, _ Injection) error { return n.ApplyAddressesAgain() }

func dropOwn(_ *Chaos, n *chaosNode, _ Injection) error { return n.DropAddresses() }

func putBackOwn(_ *Chaos, n *chaosNode, _ Injection) error { return n.PutAddressesBack() }

func ipv6Off(_ *Chaos, n *chaosNode, _ Injection) error { return n.SwitchIPv6Off() }

func ipv6On(_ *Chaos, n *chaosNode, _ Injection) error { return n.SwitchIPv6On() }

// startBlocked ends the daemon and starts it again behind a port that forwards nothing yet, as a switch with spanning tree does to a node that boots.
func (c *Chaos) startBlocked(n *chaosNode, i Injection) error {
	if err := n.daemon.Signal(unix.SIGTERM); err != nil {
		return err
	}
	if _, err := n.daemon.Wait(5 * time.Second); err != nil {
		return err
	}
	if err := cutPort(c, n, i); err != nil {
		return err
	}
	return c.start(n)
}
