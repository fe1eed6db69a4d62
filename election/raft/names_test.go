package raft

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
)

// Members tell each other their names, and one that is silent keeps its own; that is logged once, as is its return.
func TestSilentMemberKeepsItsNameAndIsLoggedOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		var log lines
		for i := range 3 {
			l.hosts[addr(i)].cfg.Node = fmt.Sprintf("cp-%d", i+1)
			l.hosts[addr(i)].cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		}
		l.settle()
		holder := l.answering()[0]
		var dead, other *host
		for i := range 3 {
			if h := l.hosts[addr(i)]; h != holder {
				dead, other = h, dead
			}
		}
		if other == nil {
			other = holder
		}
		q := other.node.Quorum()
		assert.Equal(t, holder.cfg.Node, q.LeaderNode)
		assert.Empty(t, q.noSpare(), "the others are a majority")
		assert.NotContains(t, log.String(), "silent")

		dead.crash()
		time.Sleep(10 * time.Second)
		for _, h := range []*host{holder, other} {
			m := h.seen(dead)
			assert.Equal(t, []any{true, true, dead.cfg.Node}, []any{m.State == election.Silent, m.Speaks(), m.Node})
			assert.Equal(t, "without the holder 1 of 3 voters would be heard, want 2", h.elector.Status().NoSpare)
		}
		assert.Equal(t, 2, strings.Count(log.String(), fmt.Sprintf(`level=WARN msg="a member is silent" member=%s node=%s was=backup`, dead.self, dead.cfg.Node)), "once on each node")

		dead.boot()
		time.Sleep(10 * time.Second)
		assert.Equal(t, 2, strings.Count(log.String(), "a member is heard again"))
		assert.Empty(t, holder.elector.Status().NoSpare)
	})
}

func TestMessageWithANameThatCannotBePrinted(t *testing.T) {
	for give, fine := range map[string]bool{"cp-1": true, "": true, "cp\x1b[2J": false, "cp\n": false, strings.Repeat("n", maxName): true, strings.Repeat("n", maxName+1): false} {
		var wire bytes.Buffer
		require.NoError(t, writeMessage(&wire, message{Kind: askHello, From: addr(0), Node: give}))
		_, err := readMessage(&wire)
		assert.Equal(t, fine, err == nil, "%q", give)
		assert.NoError(t, message{From: addr(0), Node: nameOf(give)}.validate(), "as a node says its own")
	}
}

func TestMessageWithATextThatCannotBePrinted(t *testing.T) {
	for give, fine := range map[string]bool{"is 503": true, "": true, "\x1b]0;owned\a": false, "x\nSPLIT": false, strings.Repeat("ä", maxText/2): true, strings.Repeat("ä", maxText/2) + "a": false} {
		for _, m := range []message{{From: addr(0), Reason: give}, {From: addr(0), Error: give}} {
			assert.Equal(t, fine, m.validate() == nil, "%q", give)
		}
		assert.NoError(t, message{From: addr(0), Reason: textOf(give), Error: textOf(give)}.validate(), "as a node says its own")
	}
}
