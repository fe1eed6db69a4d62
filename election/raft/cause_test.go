package raft

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
)

// Whoever is asked why the address moved has the same code: the holder before, the one after, and the third.
func TestEveryNodeNamesTheCauseOfAMove(t *testing.T) {
	for name, tt := range map[string]struct {
		happen func(l *lan, holder *host)
		code   code.Code
		cause  string // behind the name of the old holder
		asked  bool
	}{
		"handover": {func(l *lan, h *host) {
			ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Second)
			defer cancel()
			require.NoError(l.t, h.elector.Handover(ctx, ""))
		}, code.Handover, ": uid 0 asked for a handover", true},
		"a check fails": {func(_ *lan, h *host) {
			h.fit(election.Fitness{Less: 255, Reason: "the health check fails: 500", Code: code.CheckStatus})
		}, code.CheckStatus, ": vip: the health check fails: 500", false},
		"drained": {func(_ *lan, h *host) {
			h.fit(election.Fitness{Less: 255, Reason: "drained by an operator", Code: code.Drained})
		}, code.Drained, ": vip: drained by an operator", true},
		"stopped": {func(_ *lan, h *host) { h.stop() }, code.Stopping, ": stopping", false},
		"stopped, and its node later": {func(_ *lan, h *host) {
			h.lag = 2 * time.Second
			h.stop()
		}, code.Stopping, ": stopping", false},
		"dead": {func(_ *lan, h *host) { h.crash() }, code.HolderSilent, ": silent", false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLan(t, 3)
				defer l.stopAll()
				for i := range 3 {
					l.hosts[addr(i)].cfg.Node = fmt.Sprintf("n%d", i+1)
				}
				l.settle()
				old := l.answering()[0]
				was := election.Node{Address: old.self, Name: old.cfg.Node}
				for _, h := range l.hosts {
					h.mu.Lock()
					h.decisions = nil
					h.mu.Unlock()
				}
				tt.happen(l, old)
				time.Sleep(5 * time.Second)
				next := l.answering()[0]
				require.NotEqual(t, old, next)
				for _, h := range l.hosts {
					h.mu.Lock()
					list := h.decisions
					h.mu.Unlock()
					if h == old && (tt.code == code.HolderSilent || tt.code == code.Stopping) {
						continue
					}
					require.NotEmpty(t, list, h.self)
					last := list[len(list)-1]
					assert.Equal(t, tt.code, last.Code, "%s: %+v", h.self, list)
					assert.Contains(t, last.Cause, was.Name+tt.cause)
					assert.Equal(t, was, last.From, h.self)
					assert.Equal(t, election.Node{Address: next.self, Name: next.cfg.Node}, last.To, h.self)
					assert.Equal(t, tt.asked, last.AskedBy == "uid 0 on "+was.Name, last.AskedBy)
				}
			})
		})
	}
}
