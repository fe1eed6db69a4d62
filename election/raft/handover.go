package raft

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/keepvip/keepvip/election"
)

// pollTime is how often a wish looks whether another one's has been fulfilled.
const pollTime = 10 * time.Millisecond

// Handover passes leadership on to the node of that address, or with an empty one to whoever is best, and with it every
// address that is elected by this cluster. It returns when the other one leads; or election.ErrNotActive, ErrNoTaker or
// ErrTimeout.
func (e *Elector) Handover(ctx context.Context, to string) error {
	n := e.node
	r := n.raft.Load()
	if r == nil || e.state() != election.Active {
		return election.ErrNotActive
	}
	list := n.candidates(0)
	if to != "" {
		list = slices.DeleteFunc(list, func(c candidate) bool { return c.address.String() != to })
	}
	taker, ok := best(list)
	if !ok {
		return election.ErrNoTaker
	}
	n.mu.Lock()
	busy := n.transferring
	n.transferring = true
	n.mu.Unlock()
	if !busy { // several addresses move together: the first one asks
		if err := n.transfer(ctx, r, taker, e.handoverReason(to)); err != nil {
			return fmt.Errorf("%w: %w", election.ErrTimeout, err)
		}
		return nil
	}
	for r.State() == raft.Leader && n.isTransferring() {
		select {
		case <-time.After(pollTime):
		case <-ctx.Done():
			return election.ErrTimeout
		}
	}
	return nil
}

// handoverReason is what the others are told, with what made somebody ask if that is known.
func (e *Elector) handoverReason(to string) string {
	reason := election.AskedToHandOver(to)
	if f, _ := e.fit(); f.Reason != "" {
		reason += "; " + f.Reason
	}
	return reason
}

func (n *Node) isTransferring() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.transferring
}
