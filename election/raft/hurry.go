package raftelection

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// hurry makes the library notice the end of a promise when it comes. By itself it looks at random times, at every one or two
// heartbeat timeouts, and an election waits until a majority has looked.
func (n *Node) hurry(ctx context.Context) {
	timer := time.NewTimer(n.cfg.Heartbeat)
	defer timer.Stop()
	odd := false
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now, until := time.Now(), n.transport.following().Add(time.Millisecond)
		if wait := until.Sub(now); wait > 0 {
			timer.Reset(wait)
			continue
		}
		timer.Reset(n.cfg.Heartbeat / 5)
		if r := n.raft.Load(); r != nil && r.State() == raft.Follower && until != last {
			last, odd = until, !odd
			n.poke(r, odd)
		}
	}
}

// poke makes a follower look at its leader now: a change of the timeout does, however small.
func (n *Node) poke(r *raft.Raft, odd bool) {
	c := r.ReloadableConfig()
	c.HeartbeatTimeout = n.cfg.Heartbeat
	if odd {
		c.HeartbeatTimeout += time.Nanosecond
	}
	if err := r.ReloadConfig(c); err != nil {
		n.log.Debug("raft was not woken", "error", err)
	}
}
