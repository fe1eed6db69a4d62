package raft

import (
	"net/netip"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
)

// seen is a view of five members, this node the first of them: the second is well, the third silent, the fourth has another identity
// than the cluster knows, the fifth has no vote yet.
func seen() view {
	now := time.Unix(1000, 0)
	v := view{
		cfg:  Config{Self: addr(0), Heartbeat: 500 * time.Millisecond, RemoveDead: time.Minute},
		self: "a", heard: map[netip.Addr]hearing{}, now: now,
	}
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		s := raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(addr(i).String()), Suffrage: raft.Voter}
		if id == "e" {
			s.Suffrage = raft.Nonvoter
		}
		v.servers = append(v.servers, s)
		if i > 0 {
			v.heard[addr(i)] = hearing{message: message{ID: id, Seeded: true, Priority: 100, Last: 7, Heartbeat: v.cfg.Heartbeat, State: "Follower"}, at: now}
		}
	}
	v.change(2, func(h *hearing) { h.at = now.Add(-2 * time.Minute) })
	v.change(3, func(h *hearing) { h.ID = "d#1" })
	return v
}

func (v view) change(i int, do func(*hearing)) {
	h := v.heard[addr(i)]
	do(&h)
	v.heard[addr(i)] = h
}

func TestViewCountsVotersThatLive(t *testing.T) {
	left, live := seen().without("")
	assert.Equal(t, []int{4, 2}, []int{left, live}, "this node and the second")
	left, live = seen().without("b")
	assert.Equal(t, []int{3, 1}, []int{left, live})
}

func TestViewLeaderIsWhoSaysSoLately(t *testing.T) {
	v := seen()
	assert.False(t, v.leader().IsValid())
	v.change(2, func(h *hearing) { h.State = raft.Leader.String() })
	assert.False(t, v.leader().IsValid(), "silent since")
	v.change(1, func(h *hearing) { h.State = raft.Leader.String() })
	assert.Equal(t, addr(1), v.leader())
}

func TestViewMemberThatHasCaughtUp(t *testing.T) {
	s, ok := seen().caughtUp(7)
	assert.True(t, ok)
	assert.Equal(t, raft.ServerID("e"), s.ID)
	_, ok = seen().caughtUp(8)
	assert.False(t, ok, "an entry is missing")
	v := seen()
	v.change(4, func(h *hearing) { h.ID = "e#1" })
	_, ok = v.caughtUp(7)
	assert.False(t, ok, "another store")
}

func TestViewDeadVoter(t *testing.T) {
	v := seen()
	v.change(1, func(h *hearing) { h.at = v.now.Add(-10 * time.Second) })
	_, _, ok := v.dead()
	assert.False(t, ok, "2 of the 3 that would be left do not live")
	v = seen()
	s, silent, ok := v.dead()
	assert.True(t, ok)
	assert.Equal(t, raft.ServerID("c"), s.ID)
	assert.Equal(t, 2*time.Minute, silent)
	delete(v.heard, addr(2))
	v.opened = v.now.Add(-30 * time.Second)
	_, _, ok = v.dead()
	assert.False(t, ok, "this node hears for half a minute only")
	v.opened = v.now.Add(-time.Minute)
	s, silent, ok = v.dead()
	assert.True(t, ok, "it was dead when this node started")
	assert.Equal(t, raft.ServerID("c"), s.ID)
	assert.Equal(t, time.Minute, silent)
	v.cfg.RemoveDead = 0
	_, _, ok = v.dead()
	assert.False(t, ok, "the operator does not want it")
}

func TestViewCandidates(t *testing.T) {
	b := []candidate{{id: "b", address: addr(1), priority: 100}}
	for _, c := range []struct {
		name  string
		give  func(*hearing)
		above uint8
		want  []candidate
	}{
		{"the only one that lives", func(*hearing) {}, 99, b},
		{"not better", func(*hearing) {}, 100, nil},
		{"out", func(h *hearing) { h.Priority = 0 }, 0, nil},
		{"a witness", func(h *hearing) { h.Witness = true }, 0, nil},
		{"not ready", func(h *hearing) { h.Seeded = false }, 0, nil},
		{"another heartbeat timeout", func(h *hearing) { h.Heartbeat = time.Second }, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := seen()
			v.change(1, c.give)
			assert.Equal(t, c.want, v.candidates(c.above))
		})
	}
}
