package raft

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// listenFor is for how many paces a node listens before it founds a cluster. Members ask each other in every pace.
const listenFor = 2

// start says how a node gets into its cluster.
type start uint8

const (
	waiting start = iota
	found         // a new cluster, of the peers
	rejoin        // a cluster that exists, as a new member
)

// choose says how a node with an empty store gets into its cluster, by what others have said of themselves lately, and for how
// long it has listened to them. It is pure. The text says what it waits for.
//
// A cluster that has once elected a leader must not be founded again: somebody may have lost whom this node has voted for or followed.
// Nor may a minority found one, as the others may have a cluster already. Whoever is in a cluster counts, on the list or not:
// members come and go, and a list may be as old as the cluster.
func choose(self netip.Addr, peers []netip.Addr, others map[netip.Addr]message, listened, enough time.Duration) (start, string) {
	for _, m := range others {
		if m.Formed {
			return rejoin, ""
		}
	}
	if !slices.Contains(peers, self) {
		return waiting, fmt.Sprintf("%s, the address of this node when it started, is not under raft.peers", self)
	}
	list := digest(peers)
	here, present := 1, []string{}
	for _, p := range sorted(peers) {
		m, ok := others[p]
		switch {
		case p == self || !ok:
		case m.List != list:
			return waiting, fmt.Sprintf("%s has another list under raft.peers, or began with another one, want the same on all nodes", p)
		default:
			here++
			present = append(present, p.String())
		}
	}
	if need := len(peers)/2 + 1; here < need {
		return waiting, fmt.Sprintf("%d of %d raft.peers present (this node%s), want %d to begin", here, len(peers), prefixed(present), need)
	}
	if listened < enough {
		return waiting, "listening for a cluster that exists"
	}
	return found, ""
}

func prefixed(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ", " + strings.Join(list, ", ")
}

// bootstrap gets this node into its cluster: with the store of an earlier run, as one of the first members, or by asking to be
// let in. Safe for concurrent use.
type bootstrap struct {
	*plumbing
	gossip  *gossip
	begin   func(context.Context, raft.ServerID) error // starts the library
	joining atomic.Bool                                // this node is asking to be let in

	beginning sync.Mutex // held while it begins: with one list

	mu      sync.Mutex // guards what follows
	trouble string     // why it is in no election
	refused string     // why it may not become a member
}

// try begins, if that is possible by now.
func (b *bootstrap) try(ctx context.Context) {
	b.beginning.Lock()
	id, waits, err := b.identity()
	if err == nil && waits == "" {
		err = b.begin(ctx, id)
	}
	b.beginning.Unlock()
	if err != nil {
		waits = err.Error()
	}
	b.mu.Lock()
	fresh := b.trouble != waits
	b.trouble = waits
	b.mu.Unlock()
	if fresh && waits != "" {
		b.log.Info("not in the raft election yet", "reason", waits)
	}
}

// identity is under which name this node begins, with a store that is ready for it, or what it waits for.
func (b *bootstrap) identity() (id raft.ServerID, waits string, err error) {
	used, err := b.store.used()
	if err != nil {
		return "", "", err
	}
	id, err = b.store.id()
	if err != nil {
		return "", "", err
	}
	base := raft.ServerID(b.cfg.Self.String())
	if used {
		id = cmp.Or(id, base)
		waits, err = b.recover(id)
		return id, waits, err
	}
	how, waits := choose(b.cfg.Self, b.list(), b.gossip.view().present(), time.Since(b.opened), listenFor*b.cfg.pace())
	switch how {
	case waiting:
		return "", waits, nil
	case rejoin:
		id = freshID(base)
	case found:
		id = base
	}
	if err := b.store.setID(id); err != nil || how == rejoin {
		return id, "", err
	}
	st := b.store
	if err := raft.BootstrapCluster(b.cfg.library(id), st.logs, st.stable, st.snapshots, b.wire, firstMembers(b.list())); err != nil {
		return "", "", fmt.Errorf("raft: begin a cluster: %w", err)
	}
	st.rewritten()
	return id, "", nil
}

// why is the reason why this node is in no election; empty when it is, as far as it knows.
func (b *bootstrap) why() string {
	excluded := !b.gossip.excludedSince().IsZero()
	b.mu.Lock()
	defer b.mu.Unlock()
	if excluded && b.refused != "" {
		return b.refused
	}
	return b.trouble
}

// join asks the leader to let this node in, when it says that it does not know it.
func (b *bootstrap) join(ctx context.Context) {
	v, since := b.gossip.view(), b.gossip.excludedSince()
	leader := v.leader()
	if since.IsZero() || v.now.Sub(since) <= b.cfg.pace() || !leader.IsValid() || !b.joining.CompareAndSwap(false, true) {
		return
	}
	b.tasks.Go(func() {
		defer b.joining.Store(false)
		ctx, cancel := context.WithTimeout(ctx, b.cfg.changeTime())
		defer cancel()
		refused := ""
		if _, err := b.ask(ctx, leader, message{Kind: askJoin, From: b.cfg.Self, ID: string(v.self)}); err != nil {
			refused = err.Error()
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.refused = refused
	})
}
