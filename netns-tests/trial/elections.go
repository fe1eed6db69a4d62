package trial

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Elections runs keepvip with another election on each node, as in a cluster that is moved from one to the other.
type Elections struct {
	Raft  []bool   // by node; else VRRP
	Peers []string // of VRRP, by unicast; none: multicast
}

func (Elections) Name() string { return "keepvip, two elections" }

func (e Elections) Start(n *lab.Node, s Settings) (*lab.Process, error) {
	if e.Raft[n.ID-1] {
		return Raft{}.Start(n, s)
	}
	var k Keepvip
	for _, p := range e.Peers {
		k.Args = append(k.Args, "--peer", p)
	}
	return k.Start(n, s)
}

// AllVRRP is three nodes that elect by VRRP, and can be moved to Raft.
func AllVRRP(unicast bool) Elections {
	e := Elections{Raft: make([]bool, 3)}
	for id := range e.Raft {
		if unicast {
			e.Peers = append(e.Peers, raftAddress(id+1))
		}
	}
	return e
}

// ChangeElection restarts every node with the other election, the holder last, as docs/raft.md says. The group's product must
// be [Elections].
func ChangeElection(g *Group) (*Result, error) {
	e, ok := g.Product.(Elections)
	if !ok {
		return nil, fmt.Errorf("trial: change of election: the group runs %s alone", g.Product.Name())
	}
	name := "from VRRP to Raft"
	if e.Raft[0] {
		name = "from Raft to VRRP"
	}
	return g.run(name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
		at := m.Mark("the first node's turn")
		order := append(g.Others(holder), holder)
		for i, n := range order {
			try.Do(terminate(g.Daemon(n)))
			e.Raft[n.ID-1] = !e.Raft[n.ID-1]
			try.Do(g.Start(n))
			try.Do(g.changed(e, order[:i+1]))
		}
		return at
	})
}

// changed waits until those that have been restarted are one cluster, as far as there is a majority of them, and for as long as a
// node that has nobody to listen to would take to hold the address.
func (g *Group) changed(e Elections, nodes []*lab.Node) (err error) {
	defer try.Catch(&err)
	if e.Raft[nodes[0].ID-1] && len(nodes) > 1 {
		try.Do(g.eventually(agreeLimit, "a leader of those that were moved", func() bool { return leads(nodes) }))
	}
	time.Sleep(4 * Raft{}.heartbeat())
	return try.Err(g.SettleAny())
}

// leads tells whether all of the nodes know the same leader, one of them.
func leads(nodes []*lab.Node) bool {
	var leader netip.Addr
	for i, n := range nodes {
		list, err := Raft{}.Members(n)
		at := slices.IndexFunc(list, func(m RaftMember) bool { return m.Leader })
		if err != nil || at < 0 || i > 0 && list[at].Address != leader {
			return false
		}
		leader = list[at].Address
	}
	return slices.ContainsFunc(nodes, func(n *lab.Node) bool { return n.Address == leader })
}
