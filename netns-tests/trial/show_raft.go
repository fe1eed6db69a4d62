package trial

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// plannedHandover is how long the address may be silent when leadership is passed on.
const plannedHandover = 300 * time.Millisecond

// crowd is to how many members a cluster grows.
const crowd = 5

// raftMembers goes from one member to five and back.
func raftMembers(host *lab.Host, _ bool) (out Findings, err error) {
	defer try.Catch(&err)
	const times = 3

	for range times {
		w := try.Get(openWalk(host, crowd, 0, rand.Uint64()))
		r := try.Get(w.run())
		step, longest, moves := w.longest(r)
		out = append(out, took("longest outage in a step ("+step.name+")", longest, plannedHandover),
			Measured{What: "most moves in a step", Got: float64(moves), Limit: 1, Unit: "times"},
			took("two answering", r.Two(), 0))
	}
	return out, nil
}

// raftMembersKilled does so while members are killed at random moments.
func raftMembersKilled(host *lab.Host, _ bool) (_ Findings, err error) {
	defer try.Catch(&err)
	const want = 200
	killed, two, walks := 0, time.Duration(0), 0
	for killed < want {
		seed := rand.Uint64()
		w := try.Get(openWalk(host, crowd, 1, seed))
		r, err := w.run()
		if err != nil {
			return nil, fmt.Errorf("walk %d with seed %d: %w", walks, seed, err)
		}
		killed, two, walks = killed+w.killed, max(two, r.Two()), walks+1
	}
	return Findings{
		{What: "kills survived", Got: float64(killed), Limit: -1, Unit: "times"},
		took("two answering", two, 0),
	}, nil
}

// raftWiped installs every node anew, one after another.
func raftWiped(g *Group, _ bool) Findings {
	const rounds = 3
	m := try.Get(g.watch("disks wiped", lab.MeasureConfig{}))
	var slowest time.Duration
	for range rounds {
		for _, n := range g.Lab.Nodes {
			m.Mark("%s is installed anew", n.Label)
			try.Do(g.Wipe(n))
			began := time.Now()
			try.Do(g.Start(n))
			try.Do(g.Voters(agreeLimit, g.Lab.Nodes...))
			slowest = max(slowest, time.Since(began))
			try.Get(g.Settle())
		}
	}
	r := m.Stop()
	return Findings{
		took("votes again after", slowest, 10*time.Second), took("longest outage", r.Longest(), 2500*time.Millisecond),
		took("two answering", r.Two(), 0),
	}
}

// raftWitness has a witness as the third, and both others die in turn.
func raftWitness(g *Group, _ bool) Findings {
	const times = 6
	var longest, two time.Duration
	held := 0
	for range times {
		try.Do(g.Voters(agreeLimit, g.Lab.Nodes...))
		res := try.Get(NodeDeath(g))
		longest, two = max(longest, res.Outage), max(two, res.Two)
		held += res.Report.BindsOn(3, g.Addresses[0])
	}
	return Findings{
		took("longest outage", longest, 2500*time.Millisecond), none("the witness held", held), took("two answering", two, 0),
	}
}

// raftRecovered loses two of three for good, and begins anew with the one that is left.
func raftRecovered(g *Group, _ bool) Findings {
	r := Raft{}
	try.Do(g.Voters(agreeLimit, g.Lab.Nodes...))
	left, lost := g.Lab.Nodes[0], g.Lab.Nodes[1:]
	tooEarly := r.Member(left, "recover") == nil
	for _, n := range lost {
		try.Do(g.Wipe(n))
	}
	try.Do(g.eventually(10*time.Second, "nobody holds", func() bool { return len(g.Holders()) == 0 }))
	began := time.Now()
	try.Do(g.recover(r, left))
	try.Get(g.Settle())
	held := time.Since(began)
	for _, n := range lost {
		try.Do(r.Member(left, "add", n.Address.String()))
		try.Do(g.Start(n))
	}
	try.Do(g.Voters(agreeLimit, g.Lab.Nodes...))
	try.Get(g.Settle())
	return Findings{
		none("recovered beside a majority", count(tooEarly)), took("a holder after the command", held, 10*time.Second),
		told("three voters again after", time.Since(began)),
	}
}

// recover repeats the command until the others have been silent for long enough to be believed dead.
func (g *Group) recover(r Raft, n *lab.Node) error {
	if err := insist(10*time.Second, 200*time.Millisecond, func() error { return r.Member(n, "recover") }); err != nil {
		return fmt.Errorf("%w\n%s", err, g.Logs())
	}
	return nil
}

func (g *Group) eventually(limit time.Duration, what string, condition func() bool) error {
	if _, err := until(limit, what, condition); err != nil {
		return fmt.Errorf("%w\n%s", err, g.Logs())
	}
	return nil
}

// raftStarts starts three nodes in every order, and two of them without the third.
func raftStarts(host *lab.Host, _ bool) (Findings, error) {
	orders := [][]int{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}, {1, 2}, {2, 3}, {3, 1}}
	var slowest time.Duration
	var early int
	for _, order := range orders {
		took, alone, err := raftStart(host, order)
		if err != nil {
			return nil, fmt.Errorf("start order %v: %w", order, err)
		}
		slowest, early = max(slowest, took), early+count(alone)
	}
	return Findings{took("a holder after the second start", slowest, 3*time.Second), none("one of three held", early)}, nil
}

func raftStart(host *lab.Host, order []int) (took time.Duration, alone bool, err error) {
	defer try.Catch(&err)
	g := try.Get(Prepare(host, RaftConfig(Raft{})))
	defer g.Close()
	for i, id := range order {
		began := time.Now()
		try.Do(g.Start(g.Lab.Nodes[id-1]))
		switch i {
		case 0:
			time.Sleep(1500 * time.Millisecond)
			alone = len(g.Holders()) > 0
		case 1:
			try.Do(g.eventually(10*time.Second, "a holder", func() bool { return len(g.Holders()) == 1 }))
			took = time.Since(began)
		}
	}
	st, err := Keepvip{}.Status(try.Get(g.Settle()))
	if err == nil && !st.VIPs[0].Fence.Standing {
		err = fmt.Errorf("no fence: %s", st.VIPs[0].Fence.Reason)
	}
	return took, alone, err
}

// raftIdle measures what three idle nodes cost at the defaults; the worst of them counts.
func raftIdle(g *Group, _ bool) Findings {
	try.Do(g.Voters(agreeLimit, g.Lab.Nodes...))
	return idleFindings(try.Get(Idle(2*time.Minute)(g)), 0.6)
}

// idleFindings are what a group cost that had nothing to do, of which the worst node may take so many per cent of a processor.
func idleFindings(res *Result, most float64) Findings {
	return Findings{
		{What: "CPU", Got: res.CPU, Limit: most, Unit: "%"},
		{What: "RSS", Got: float64(res.RSS) / (1 << 20), Limit: 35, Unit: "MiB"},
		none("moves that no silence explains", max(res.Takeovers-2*res.BySilence, 0)),
	}
}

// raftDamaged starts a node again and again with a store of Raft in which random octets have changed: the entry that VRRP elects is served all the
// same, and the process lives.
func raftDamaged(host *lab.Host, full bool) (_ Findings, err error) {
	defer try.Catch(&err)
	l := try.Get(host.Open(lab.Config{Nodes: 1}))
	defer l.Close()
	n := l.Nodes[0]
	key := try.Get(n.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600))
	file := try.Get(n.WriteFile("keepvip.yaml", fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nkey: {file: %s}\nvips:\n- {name: a, addresses: [%s], check: none, election: raft}\n"+
		"- {name: b, addresses: [%s], check: none}\nraft: {peers: [%s]}\n", key, another, lab.VIP4, n.Address), 0o600))
	// begin starts it, and says of both entries what has become of them once VRRP's is served.
	begin := func(settled func(Status) bool) (_ *lab.Process, s Status, err error) {
		defer try.Catch(&err)
		p := try.Get(Keepvip{}.Run(n, "--config", file))
		_, err = until(SettleLimit, "the entries settle", func() bool {
			s, err = Keepvip{}.Status(n)
			return !p.Alive() || err == nil && len(s.VIPs) == 2 && settled(s)
		})
		return p, s, err
	}
	p, _ := try.Two(begin(func(s Status) bool { return s.VIPs[0].State == "active" && s.VIPs[1].State == "active" }))
	try.Get(p.Terminate(10 * time.Second))
	const store = "state/raft/store.db"
	good := try.Get(os.ReadFile(n.Path(store)))
	damaged, times := 0, sized(full, 100, 5)
	for seed := range times {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		bad := bytes.Clone(good)
		for range 200 {
			bad[r.IntN(len(bad))] = byte(r.IntN(256))
		}
		try.Do(os.WriteFile(n.Path(store), bad, 0o600))
		p, s, err := begin(func(s Status) bool {
			return s.VIPs[1].State == "active" && (s.VIPs[0].State == "active" || s.VIPs[0].Reason != "")
		})
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w\n%s", seed, err, p.Log())
		}
		if !p.Alive() {
			return nil, fmt.Errorf("trial: with the store of seed %d the process ends\n%s", seed, p.Log())
		}
		damaged += count(s.VIPs[0].State != "active")
		try.Do(p.Kill9())
		try.Get(p.Wait(10 * time.Second))
	}
	return Findings{
		{What: "stores that were tried", Got: float64(times), Limit: -1, Unit: "stores"},
		{What: "stores that the entry does without", Got: float64(damaged), Limit: -1, Unit: "stores"},
	}, nil
}
