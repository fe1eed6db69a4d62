package raft

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
)

// noteSilent logs once that a member of the cluster is silent, and once that it is heard again.
func (g *gossip) noteSilent(now time.Time) {
	servers := g.cluster.servers()
	g.mu.Lock()
	defer g.mu.Unlock()
	members := map[netip.Addr]bool{}
	for _, s := range servers {
		a := addressOf(s.Address)
		h := g.heard[a]
		if members[a] = true; a == g.cfg.Self || h.at.IsZero() {
			continue // one that was never heard is not lost
		}
		if silent := !h.fresh(now, g.cfg.pace()); silent != g.silent[a] {
			g.silent[a] = silent
			g.saySilent(now, h, silent)
		}
	}
	for a := range g.silent {
		if !members[a] {
			delete(g.silent, a) // removed
		}
	}
}

// saySilent is the line about it; the caller holds the lock.
func (g *gossip) saySilent(now time.Time, h hearing, silent bool) {
	text, level, word, value := "a member is heard again", slog.LevelInfo, "was", "silent"
	if silent {
		text, level, value = "a member is silent", slog.LevelWarn, election.Backup.String()
		if h.Holds {
			value = election.Active.String()
		}
	}
	if left, ok := g.lines.May(now, text, election.MostLines); ok {
		g.log.Log(context.Background(), level, text, election.LeftOut([]any{"member", h.From.String(), "node", h.Node, word, value}, left)...)
	}
}
