package raft

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
)

// crowd is a cluster whose members come and go.
type crowd struct {
	*lan
	r       *rand.Rand
	members []netip.Addr
}

// TestMembersComeAndGoUnderRandomFaults: members are added and removed while others are killed, frozen and cut off. When peace
// returns, who is to be a member votes, who is not does not, all agree, and one holds.
func TestMembersComeAndGoUnderRandomFaults(t *testing.T) { simulations(t, 3, comeAndGo) }

func comeAndGo(t *testing.T, seed int) {
	r := rand.New(rand.NewPCG(uint64(seed), 17))
	c := &crowd{lan: newLan(t, 1), r: r, members: []netip.Addr{addr(0)}}
	defer c.stopAll()
	var all []netip.Addr
	for i := range 5 {
		all = append(all, addr(i))
	}
	for i := 1; i < 5; i++ {
		c.add(i, all)
	}
	c.hosts[addr(0)].boot()
	c.await(5 * time.Second)
	for range 15 {
		c.change()
		c.agree()
	}
}

// change adds or removes a member, on any of them, in the middle of a fault.
func (c *crowd) change() {
	subject := addr(c.r.IntN(5))
	op, on := OpAdd, c.hosts[c.members[c.r.IntN(len(c.members))]]
	if slices.Contains(c.members, subject) {
		op = OpRemove
	}
	if op == OpRemove && len(c.members) == 1 {
		return
	}
	host := c.hosts[subject]
	if op == OpAdd && host.node == nil {
		host.boot()
	}
	c.t.Log(time.Now().Format("05.000"), op, subject, "on", on.self, "members", c.members)
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		defer cancel()
		done <- on.node.Change(ctx, op, subject)
	}()
	c.watch(time.Duration(c.r.IntN(1500)) * time.Millisecond)
	c.fault()
	c.watch(time.Duration(c.r.IntN(3000)) * time.Millisecond)
	c.peace()
	if err := <-done; err != nil { // a person repeats what has failed
		c.watch(5 * time.Second)
		c.repeat(op, subject)
	}
	if op == OpAdd {
		c.members = append(c.members, subject)
		return
	}
	c.members = slices.DeleteFunc(c.members, func(a netip.Addr) bool { return a == subject })
	if c.r.IntN(3) == 0 {
		return // nobody has told it
	}
	host.stop()
	if c.r.IntN(2) == 0 {
		host.disk = emptyDisk()
		host.cfg.Peers = []netip.Addr{addr(0), addr(1), addr(2), addr(3), addr(4)} // as in everybody's file by now
	}
}

func (c *crowd) repeat(op string, subject netip.Addr) {
	c.t.Helper()
	var err error
	for range 10 {
		on := c.hosts[c.members[c.r.IntN(len(c.members))]]
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		err = on.node.Change(ctx, op, subject)
		cancel()
		if err == nil {
			return
		}
		c.watch(time.Second)
	}
	require.NoError(c.t, err, "%s %s", op, subject)
}

// fault strikes one of the nodes that run.
func (c *crowd) fault() {
	var running []*host
	for i := range 5 {
		if h := c.hosts[addr(i)]; h.node != nil {
			running = append(running, h)
		}
	}
	h := running[c.r.IntN(len(running))]
	switch c.r.IntN(6) {
	case 0, 1:
		h.crash()
		h.boot()
	case 2:
		h.freeze(true)
	case 3:
		c.isolate(h.self, true)
	case 4:
		h.fit(election.Fitness{Less: 255, Reason: "the health check fails"})
	}
}

func (c *crowd) peace() {
	c.heal()
	for _, h := range c.hosts {
		if h.node != nil {
			h.fit(election.Fitness{})
		}
	}
}

// agree waits until all members know each other, and one holds.
func (c *crowd) agree() {
	c.t.Helper()
	want := sorted(c.members)
	var why string
	for range 200 {
		if why = c.differs(want); why == "" && len(c.answering()) == 1 {
			break
		}
		c.watch(100 * time.Millisecond)
	}
	require.Empty(c.t, why)
	holder, _ := c.await(5 * time.Second)
	assert.Contains(c.t, c.members, holder.self)
	c.watch(time.Second)
}

// differs says whose view of the members is another one; empty when there is none.
func (c *crowd) differs(want []netip.Addr) string {
	for _, a := range want {
		n := c.hosts[a].node
		var got []netip.Addr
		for _, s := range n.cluster.servers() {
			got = append(got, addressOf(s.Address))
		}
		if !slices.Equal(sorted(got), want) || len(n.cluster.voters()) != len(want) || !n.cluster.voice() {
			return a.String() + " does not agree with the others"
		}
	}
	return ""
}

// The leader that gives a node its vote is the first to count it, and may be the only one to know. When it loses the new voter
// in that moment, it needs that one's vote to lead again.
func TestNodeVotesBeforeItKnowsThatItMay(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 1)
		defer l.stopAll()
		founder := l.hosts[addr(0)]
		founder.boot()
		l.await(5 * time.Second)
		second := l.add(1, []netip.Addr{addr(0), addr(1)})
		second.boot()
		require.NoError(t, founder.node.Change(t.Context(), OpAdd, addr(1)))
		for len(founder.node.cluster.voters()) < 2 {
			time.Sleep(l.delay / 4)
		}
		require.False(t, second.node.cluster.voice())
		l.isolate(addr(1), true)
		l.watch(3 * time.Second)
		require.Len(t, founder.node.cluster.voters(), 2)
		require.False(t, second.node.cluster.voice())
		l.isolate(addr(1), false)
		l.await(5 * time.Second)
		l.watch(2 * time.Second)
		assert.True(t, second.node.cluster.voice())
	})
}

// The programs of those that are left may be restarted while one of them is dead, and the dead one may come back at last.
func TestMemberThatIsRemovedAsDeadComesBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		for _, h := range l.hosts {
			h.cfg.RemoveDead = 10 * time.Second
		}
		l.settle()
		dead := l.hosts[addr(2)]
		dead.crash()
		l.watch(3 * time.Second)
		for i := range 2 {
			l.hosts[addr(i)].stop()
			l.hosts[addr(i)].boot()
			l.watch(3 * time.Second)
		}
		l.watch(13 * time.Second)
		require.Len(t, l.hosts[addr(0)].node.cluster.voters(), 2, "it is removed")
		dead.boot()
		l.watch(10 * time.Second)
		for _, h := range l.hosts {
			assert.Len(t, h.node.cluster.voters(), 3, "as %s has it", h.self)
		}
	})
}

// Between the removal of the older self of a node without its disk and its entry, the leader may be lost: the next one lets it in all the same.
func TestNodeWithoutItsDiskIsLetInByTheNextLeader(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		leader := l.answering()[0]
		wiped := l.hosts[addr(0)]
		if wiped == leader {
			wiped = l.hosts[addr(1)]
		}
		wiped.crash()
		wiped.disk = emptyDisk()
		wiped.boot()
		former := raft.ServerID(wiped.self.String())
		for began := time.Now(); leader.node.cluster.knows(former); time.Sleep(l.delay / 4) {
			require.Less(t, time.Since(began), 20*time.Second)
		}
		l.isolate(leader.self, true)
		l.watch(3 * time.Second)
		require.Len(t, leader.node.cluster.voters(), 2, "it is not in yet")
		l.heal()
		l.watch(10 * time.Second)
		assert.True(t, wiped.node.cluster.voice(), wiped.node.bootstrap.why())
	})
}

// The leader calls a member at the address that the cluster has. Where that is another one by now, the node says what to do, and is back after that.
func TestMemberAtAnotherAddressSaysWhatToDo(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		old := l.hosts[addr(2)]
		old.stop()
		moved := l.add(3, []netip.Addr{addr(0), addr(1), addr(3)})
		moved.disk = old.disk
		moved.boot()
		on := l.hosts[addr(0)].node
		require.NoError(t, on.Change(t.Context(), OpAdd, addr(3)))
		l.watch(10 * time.Second)
		assert.Contains(t, moved.node.bootstrap.why(), "keepvip member remove 10.77.0.13 and keepvip member add 10.77.0.14")
		assert.NotEmpty(t, moved.elector.Status().Blocked)
		require.NoError(t, on.Change(t.Context(), OpRemove, addr(2)))
		l.watch(10 * time.Second)
		assert.True(t, moved.node.cluster.voice())
		assert.Empty(t, moved.node.bootstrap.why())
		for _, h := range []*host{l.hosts[addr(0)], l.hosts[addr(1)], moved} {
			assert.ElementsMatch(t, []raft.ServerID{"10.77.0.11", "10.77.0.12", "10.77.0.13"}, h.node.cluster.voters())
			assert.True(t, h.node.cluster.has("10.77.0.13", addr(3)))
		}
	})
}

// Addresses come and go for years, as those of machines that a cloud replaces. What is invited has a bound, and keeps nobody in or out.
func TestInvitationsThatNobodyFollowsKeepNoMemberInOrOut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		for _, h := range l.hosts {
			h.cfg.RemoveDead = 10 * time.Second
		}
		l.settle()
		on := l.answering()[0].node
		for i := range maxRoster + 3 {
			require.NoError(t, on.Change(t.Context(), OpAdd, addr(20+i)))
		}
		assert.False(t, on.membership.roster.has(addr(20)), "the lowest had to go")
		require.NoError(t, on.Change(t.Context(), OpAdd, addr(21+maxRoster)), "it is in, and that is no error")
		dead := l.hosts[addr(0)]
		if dead.node == on {
			dead = l.hosts[addr(1)]
		}
		dead.crash()
		l.watch(15 * time.Second)
		require.Len(t, on.cluster.voters(), 2, "it is removed")
		assert.True(t, on.membership.roster.has(dead.self))
		dead.boot()
		l.watch(10 * time.Second)
		assert.Len(t, on.cluster.voters(), 3)
		require.NoError(t, on.Change(t.Context(), OpAdd, addr(100)))
		assert.False(t, on.membership.roster.has(dead.self), "a member needs no invitation")
		l.watch(2 * time.Second)
		for _, h := range l.hosts {
			h.node.membership.roster.mu.Lock()
			assert.Len(t, h.node.membership.roster.invited, maxRoster)
			h.node.membership.roster.mu.Unlock()
		}
	})
}
