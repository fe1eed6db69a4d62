package trial

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Raft is keepvip with an election by Raft. A node's list of peers is its own affair: see Peers.
type Raft struct {
	Keepvip
	Peers     int           // the first so many nodes are the list; 0 = 3
	First     int           // if not 0, the list of the first node is the first so many: the others join later
	Witnesses []int         // node numbers
	Heartbeat time.Duration // 0 = the default, 500 ms
}

// RaftConfig is a group that elects by Raft.
func RaftConfig(r Raft) Config {
	return Config{Product: r, Interval: 100 * time.Millisecond, Lab: lab.Config{Nodes: max(r.Peers, 3)}}
}

// RaftOwnClocks are three nodes whose daemons have wall clocks of their own.
func RaftOwnClocks() Raft { return Raft{Keepvip: Keepvip{Ahead: make([]time.Duration, 3)}} }

// raftHeartbeat is the default of raft.heartbeatTimeout.
const raftHeartbeat = 500 * time.Millisecond

func (r Raft) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	key := try.Get(n.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600))
	count := max(r.Peers, 3)
	if r.First > 0 && n.ID == 1 {
		count = r.First
	}
	args := []string{"--election", "raft", "--key-file", key, "--raft-peer", addressesOf(count)}
	if len(r.Witnesses) > 0 {
		var list []string
		for _, id := range r.Witnesses {
			list = append(list, raftAddress(id))
		}
		args = append(args, "--raft-witness", strings.Join(list, ","))
	}
	if r.Heartbeat > 0 {
		args = append(args, "--raft-heartbeat-timeout", r.Heartbeat.String())
	}
	k := r.Keepvip
	k.Args = append(args, k.Args...)
	return k.Start(n, s)
}

func raftAddress(id int) string { return fmt.Sprintf("10.77.0.%d", 10+id) }

func addressesOf(count int) string {
	var list []string
	for id := range count {
		list = append(list, raftAddress(id+1))
	}
	return strings.Join(list, ",")
}

// heartbeat is raft.heartbeatTimeout.
func (r Raft) heartbeat() time.Duration {
	if r.Heartbeat > 0 {
		return r.Heartbeat
	}
	return raftHeartbeat
}

// RaftMember is a member as `keepvip status` shows it.
type RaftMember struct {
	Address netip.Addr `json:"address"`
	ID      string     `json:"id"`
	Self    bool       `json:"self"`
	Voter   bool       `json:"voter"`
	Leader  bool       `json:"leader"`
	Waiting bool       `json:"waiting"`
	Note    string     `json:"note"`
}

// Members are those that the node's keepvip knows.
func (Raft) Members(n *lab.Node) ([]RaftMember, error) {
	var doc struct {
		Raft struct {
			Members []RaftMember `json:"members"`
		} `json:"raft"`
	}
	err := askStatus(n, answerLimit, &doc)
	return doc.Raft.Members, err
}

// Member runs `keepvip member` on the node.
func (r Raft) Member(on *lab.Node, args ...string) error {
	return r.order(on, append([]string{"member"}, args...)...)
}

// Voters waits until every one of the nodes knows them, and nobody else, as the voters, each under the identity that it has
// now: while a node catches up it sees the configurations of the past.
func (g *Group) Voters(limit time.Duration, nodes ...*lab.Node) error {
	r, ok := g.Product.(Raft)
	if !ok {
		return fmt.Errorf("trial: %s has no voters", g.Product.Name())
	}
	if err := insist(limit, 50*time.Millisecond, func() error { return r.agree(nodes) }); err != nil {
		return fmt.Errorf("%w, after %v\n%s", err, limit, g.Logs())
	}
	return nil
}

func (r Raft) agree(nodes []*lab.Node) (err error) {
	defer try.Catch(&err)
	known := map[netip.Addr]string{}
	for _, n := range nodes {
		members := try.Get(r.Members(n))
		voters := 0
		for _, m := range members {
			switch id, seen := known[m.Address]; {
			case m.Waiting:
				continue // heard, but no member
			case !m.Voter:
				return fmt.Errorf("trial: %s has no vote as %s knows it: %+v", m.Address, n.Label, members)
			case strings.Contains(m.Note, "empty store"), seen && id != m.ID, m.Self && m.Address != n.Address:
				return fmt.Errorf("trial: %s is not known to %s as it is now: %+v", m.Address, n.Label, members)
			}
			known[m.Address] = m.ID
			voters++
		}
		if voters != len(nodes) {
			return fmt.Errorf("trial: %d voters as %s knows them, want %d: %+v", voters, n.Label, len(nodes), members)
		}
	}
	return nil
}

// Wipe kills keepvip on the node and removes all that it has stored, as a new installation would.
func (g *Group) Wipe(n *lab.Node) (err error) {
	defer try.Say(&err, "trial: wipe %s", n.Label)
	if p := g.Daemon(n); p != nil && p.Alive() {
		try.Do(p.Kill9())
		try.Get(p.Wait(2 * time.Second))
	}
	try.Do(os.RemoveAll(filepath.Join(n.Dir, "state")))
	return nil
}

// Others are the nodes but for one, beginning with the next.
func (g *Group) Others(n *lab.Node) []*lab.Node {
	nodes := g.Lab.Nodes
	return slices.Concat(nodes[n.ID:], nodes[:n.ID-1])
}

// AcknowledgerRestarted cuts the holder from the third node, so that one other acknowledges alone, and then kills that one
// and starts it again at once, while the holder is frozen: its vote must not bring the third to power before the holder's
// lease is over.
func AcknowledgerRestarted(frozen bool) Fault {
	return func(g *Group) (*Result, error) {
		name := "acknowledging follower killed and restarted"
		if frozen {
			name += ", holder frozen"
		}
		res, err := g.run(name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			others := g.Others(holder)
			try.Do(g.Lab.Cut(lab.Apart([]*lab.Node{holder}, others[1:])...))
			m.Mark("%s cut from all but %s", holder.Label, others[0].Label)
			time.Sleep(2 * raftHeartbeat)
			if !holder.Holds(g.Addresses[0]) {
				return m.Mark("the holder has changed before the fault")
			}
			at := m.Mark("kill -9 of the daemon on %s", others[0].Label)
			if frozen {
				try.Do(g.Daemon(holder).Stop())
			}
			try.Do(g.Daemon(others[0]).Kill9())
			try.Get(g.Daemon(others[0]).Wait(2 * time.Second))
			try.Do(g.Start(others[0]))
			time.Sleep(3 * time.Second)
			if frozen {
				try.Do(g.Daemon(holder).Cont())
			}
			m.Mark("healed")
			try.Do(g.Lab.Cut())
			time.Sleep(g.span())
			return at
		})
		return res, errors.Join(err, g.Lab.Cut())
	}
}

// ClocksStepped makes the wall clocks of the holder and of another node jump apart, then cuts the holder off. The daemons must
// have clocks of their own.
func ClocksStepped(by time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		res, err := g.run(fmt.Sprintf("clocks stepped by %v", by), lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			others := g.Others(holder)
			at := m.Mark("the clock of %s goes wrong by %v, that of %s by %v", holder.Label, by, others[0].Label, -by)
			try.Do(g.Daemon(holder).StepClock(by))
			try.Do(g.Daemon(others[0]).StepClock(-by))
			time.Sleep(2 * time.Second)
			m.Mark("%s cut from the others", holder.Label)
			try.Do(g.Lab.Cut(lab.Apart([]*lab.Node{holder}, others)...))
			time.Sleep(3 * time.Second)
			m.Mark("healed")
			try.Do(g.Lab.Cut())
			time.Sleep(g.span())
			try.Do(errors.Join(g.Daemon(holder).StepClock(0), g.Daemon(others[0]).StepClock(0)))
			return at
		})
		return res, errors.Join(err, g.Lab.Cut())
	}
}
