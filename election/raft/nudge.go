package raft

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// nudgeElections makes the library notice the end of a vote lock when it comes. By itself it looks at random times, at every one or two
// heartbeat timeouts, and an election waits until a majority has looked.
func (n *Node) nudgeElections(ctx context.Context) {
	timer := n.cfg.Clock.Timer()
	defer timer.Stop()
	timer.Set(time.Now().Add(n.cfg.Heartbeat))
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now, until := time.Now(), n.transport.following().Add(time.Millisecond)
		if until.After(now) {
			timer.Set(until)
			continue
		}
		r := n.raft.Load()
		if r != nil && r.State() == raft.Leader {
			timer.Set(nextWhole(time.Now(), n.cfg.Heartbeat)) // it follows nobody
			continue
		}
		timer.Set(time.Now().Add(n.cfg.Heartbeat / 5))
		if r != nil && r.State() == raft.Follower && until != last {
			last = until
			n.nudge(r)
		}
	}
}

// nudge makes a follower look at its leader now: a shorter timeout does, however little.
func (n *Node) nudge(r *raft.Raft) {
	c := r.ReloadableConfig()
	for _, more := range []time.Duration{time.Nanosecond, 0} {
		c.HeartbeatTimeout = n.cfg.Heartbeat + more
		if err := r.ReloadConfig(c); err != nil {
			n.log.Debug("raft was not woken", "error", err)
		}
	}
}
