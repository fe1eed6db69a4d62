package raft

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// nudgeElections makes the library notice the end of a vote lock when it comes. By itself it looks at random times, at every one or two
// heartbeat timeouts, and an election waits until a majority has looked.
func (c *cluster) nudgeElections(ctx context.Context) {
	timer := time.NewTimer(c.cfg.Heartbeat)
	defer timer.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now, until := time.Now(), c.transport.following().Add(time.Millisecond)
		if until.After(now) {
			timer.Reset(until.Sub(now))
			continue
		}
		r := c.library.Load()
		if r.State() == raft.Leader {
			timer.Reset(untilWhole(c.cfg.Heartbeat)) // it follows nobody
			continue
		}
		timer.Reset(c.cfg.Heartbeat / 5)
		if r.State() == raft.Follower && until != last {
			last = until
			c.nudge(r)
		}
	}
}

// nudge makes a follower look at its leader now: a shorter timeout does, however little.
func (c *cluster) nudge(r *raft.Raft) {
	config := r.ReloadableConfig()
	for _, more := range []time.Duration{time.Nanosecond, 0} {
		config.HeartbeatTimeout = c.cfg.Heartbeat + more
		if err := r.ReloadConfig(config); err != nil {
			c.log.Debug("raft was not woken", "error", err)
		}
	}
}
