package raft

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestNodeAloneOfThreeHasNoQuorum(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		var log lines
		for _, h := range l.hosts {
			h.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		}
		l.settle()
		assert.NotContains(t, log.String(), "NO QUORUM", "a node that has just started hears nobody")
		holder := l.answering()[0]
		for _, h := range l.hosts {
			assert.Equal(t, Quorum{Majority: true, Leader: holder.self, Term: h.node.Quorum().Term, Voters: 3, VotersHeard: 3}, h.node.Quorum())
			assert.Empty(t, h.elector.Status().Blocked)
		}
		holder.crash()
		time.Sleep(2 * time.Second)
		next, _ := l.await(5 * time.Second)
		next.crash()
		var left *host
		for _, h := range l.hosts {
			if h.node != nil {
				left = h
			}
		}
		time.Sleep(5 * time.Second)
		q := left.node.Quorum()
		assert.False(t, q.Majority)
		assert.False(t, q.Leader.IsValid())
		require.NotNil(t, q.Leaderless)
		assert.WithinDuration(t, time.Now().Add(-5*time.Second), *q.Leaderless, 1500*time.Millisecond)
		assert.Equal(t, []int{1, 3}, []int{q.VotersHeard, q.Voters})
		s := left.elector.Status()
		assert.Equal(t, election.Backup, s.State)
		assert.Equal(t, "NO QUORUM: 1 of 3 voters heard, want 2", s.Present)
		assert.Equal(t, s.Present, s.Blocked)
		assert.False(t, s.Holder.IsValid())
		assert.Equal(t, 1, strings.Count(log.String(), "NO QUORUM: 1 of 3"), "logged once")

		next.boot()
		l.await(5 * time.Second)
		time.Sleep(3 * time.Second)
		assert.True(t, left.node.Quorum().Majority)
		assert.Empty(t, left.elector.Status().Blocked)
	})
}

// Voters that are heard by questions, but do not follow each other: nobody leads, and that is said, too.
func TestNodeSaysThatNobodyLeads(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		q := l.hosts[addr(0)].node.Quorum()
		since := time.Now()
		q.Leaderless = &since
		assert.Empty(t, q.blocked(since.Add(leaderlessFor*l.heartbeat), l.heartbeat).text, "an election takes its time")
		assert.Contains(t, q.blocked(since.Add(leaderlessFor*l.heartbeat+time.Millisecond), l.heartbeat).text, "NO LEADER, although 3 of 3 voters are heard")
	})
}

// What is shown beside the holder is how the election stands now, and not how it was when this node began.
func TestElectorReasonFollowsTheLeader(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		for _, h := range l.hosts {
			want := "another node leads"
			if h == l.answering()[0] {
				want = "leads, and a majority follows"
			}
			assert.Equal(t, want, h.elector.Status().Present)
		}
	})
}

// lines is a log that is read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// The third of three starts when the others have begun: nothing is lost, and nobody says so.
func TestFirstStartAfterTheOthersLosesNoStore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		var log lines
		for _, h := range l.hosts {
			h.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		}
		l.hosts[addr(0)].boot()
		l.hosts[addr(1)].boot()
		l.await(5 * time.Second)
		l.hosts[addr(2)].boot()
		time.Sleep(10 * time.Second)
		require.True(t, l.hosts[addr(2)].node.cluster.voice())
		assert.NotContains(t, log.String(), "lost")
		assert.Contains(t, log.String(), "it joins with an empty store")
	})
}
