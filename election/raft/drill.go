package raft

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// still is an operator's wish that an elector stand still for a while.
type still struct {
	end  <-chan struct{}
	over chan struct{} // closed when the elector goes on
}

func (s still) wait(ctx context.Context) {
	defer close(s.over)
	select {
	case <-s.end:
	case <-ctx.Done():
	}
}

// StandStill stops this node's part in the cluster, and this elector, until ctx ends, as if the process were frozen: nothing is said,
// nothing is heard, and the lease is not renewed, so that the kernel ends it. Every address of the cluster is held by
// another node then. It returns when the elector goes on, or has ended. Safe from any goroutine.
func (e *Elector) StandStill(ctx context.Context) error {
	s := still{end: ctx.Done(), over: make(chan struct{})}
	select {
	case e.stills <- s:
	case <-ctx.Done():
		return nil
	}
	e.node.still.Add(1)
	defer e.node.look.Send()
	defer e.node.still.Add(-1)
	<-s.over
	return nil
}

func (n *Node) standsStill() bool { return n.still.Load() > 0 }

// unlessStill is ask of a node that asks nobody while it stands still, and hears no answer.
func (n *Node) unlessStill(ask func(context.Context, netip.Addr, message) (message, error)) func(context.Context, netip.Addr, message) (message, error) {
	return func(ctx context.Context, to netip.Addr, m message) (message, error) {
		if n.standsStill() {
			return message{}, errStill
		}
		res, err := ask(ctx, to, m)
		if n.standsStill() {
			return message{}, errStill
		}
		return res, err
	}
}

// backEvery is how often TakeBack asks, and looks whether the address is here.
const backEvery = 100 * time.Millisecond

// TakeBack asks the leader to pass leadership on to this node, until the address is here or ctx has ended. The error is
// election.ErrTimeout then, with what the leader said last. Safe from any goroutine.
func (e *Elector) TakeBack(ctx context.Context) error {
	tick := time.NewTicker(backEvery)
	defer tick.Stop()
	said := errors.New("no leader is known")
	for e.state() != election.Active {
		if leader := e.node.cluster.leader(); leader.IsValid() && leader != e.node.cfg.Self {
			if err := e.node.askBack(ctx, leader); err != nil {
				said = err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", election.ErrTimeout, said)
		}
	}
	return nil
}

func (n *Node) askBack(ctx context.Context, leader netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, 2*n.cfg.Heartbeat)
	defer cancel()
	_, err := n.ask(ctx, leader, message{Kind: askBack, From: n.cfg.Self, ID: string(n.cluster.self())})
	return err
}

// answerBack passes leadership on to the member that asks, if that is as good a candidate as any. It does not wait for the end.
func (n *Node) answerBack(m message) message {
	list := slices.DeleteFunc(n.gossip.view().candidates(unfitPriority), func(c candidate) bool { return c.id != raft.ServerID(m.ID) })
	switch {
	case n.cluster.leading() == nil:
		return n.no("not the leader")
	case len(list) == 0:
		return n.no("you are no fit voter, as far as this node knows")
	case !n.transfer.tryBegin():
		return n.no("not now: leadership was passed on just before")
	}
	n.tasks.Go(func() {
		if _, err := n.transfer.handOver(context.Background(), list, word{code.PassedOn, election.AskedBack}); err != nil {
			n.log.Warn("leadership not passed on", "error", err)
		}
	})
	return n.yes()
}
