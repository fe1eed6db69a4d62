package raft

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
)

// seen is how a host shows another member.
func (h *host) seen(other *host) election.Member {
	for _, m := range h.elector.Status().Members {
		if m.Address == other.self {
			return m
		}
	}
	return election.Member{}
}

// A killed member is shown as silent since it was heard last, and as what it was: a holder as soon as there is another one.
func TestSilentMemberIsShownAsSilent(t *testing.T) {
	for name, holds := range map[string]bool{"the holder": true, "another": false} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLan(t, 3)
				defer l.stopAll()
				l.settle()
				dead, was, soon := l.answering()[0], election.Active, 150*time.Millisecond
				if !holds {
					was, soon = election.Backup, freshFor*dead.node.cfg.pace()
					for _, h := range l.hosts {
						if !h.answers() {
							dead = h
						}
					}
				}
				at := time.Now()
				dead.crash()
				next := dead
				for next == dead { // until its lease has ended
					time.Sleep(time.Millisecond)
					next, _ = l.await(5 * time.Second)
				}
				for _, wait := range []time.Duration{soon, 3 * time.Second, 5 * time.Minute} {
					time.Sleep(wait)
					for _, h := range l.hosts {
						if h == dead {
							continue
						}
						m := h.seen(dead)
						assert.Equal(t, election.Silent, m.State, "%v at %v after %v", h.self, time.Since(at), wait)
						assert.Equal(t, was.String(), m.Was)
						assert.Empty(t, m.Note)
						assert.WithinDuration(t, at, m.LastHeard, 2*l.heartbeat+10*time.Millisecond, "since when")
						for _, o := range h.elector.Status().Members {
							assert.Equal(t, o.Address == next.self, o.State == election.Active, "%v of %v", o.Address, h.self)
						}
					}
				}
				dead.boot()
				time.Sleep(10 * time.Second)
				for _, h := range l.hosts {
					if h != dead {
						m := h.seen(dead)
						require.NotEqual(t, election.Silent, m.State)
						assert.Equal(t, election.Backup, m.State)
					}
				}
			})
		})
	}
}

// Who passes the address on in order is alive, and is shown so throughout.
func TestMemberThatLetsGoIsNotShownAsSilent(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		old := l.answering()[0]
		old.fit(election.Fitness{Less: 50, Reason: "unhealthy"})
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			for _, h := range l.hosts {
				for _, m := range h.elector.Status().Members {
					require.NotEqual(t, election.Silent, m.State, "%v is shown as silent by %v", m.Address, h.self)
				}
			}
		}
		assert.NotEqual(t, old, l.answering()[0])
	})
}
