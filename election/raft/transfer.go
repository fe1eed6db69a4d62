package raft

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// candidate is a voter that leadership could be passed to.
type candidate struct {
	id       raft.ServerID
	address  netip.Addr
	priority uint8
}

// best is the fittest of the candidates; of equals the lowest address. It is pure.
func best(list []candidate) (candidate, bool) {
	var found candidate
	for _, c := range list {
		if found.id == "" || c.priority > found.priority || c.priority == found.priority && c.address.Less(found.address) {
			found = c
		}
	}
	return found, found.id != ""
}

// candidates are the other voters that live and may hold, with more than the given priority.
func (n *Node) candidates(above uint8) []candidate {
	servers := n.servers()
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []candidate
	now := time.Now()
	for _, s := range servers {
		a := addressOf(s.Address)
		h := n.heard[a]
		if s.Suffrage != raft.Voter || s.ID == n.id || h.ID != string(s.ID) || !h.fresh(now, n.pace()) {
			continue
		}
		if !h.Seeded || h.Witness || n.cfg.witness(a) || h.Heartbeat != n.cfg.Heartbeat || h.Priority <= above {
			continue
		}
		out = append(out, candidate{id: s.ID, address: a, priority: h.Priority})
	}
	return out
}

// considerTransfer passes leadership on when this node is not at its best and another is better. Of equals nobody moves:
// when all are unfit, the address stays.
func (n *Node) considerTransfer(ctx context.Context, r *raft.Raft) {
	own := n.fitness()
	if !own.impaired {
		return
	}
	to, ok := best(n.candidates(own.priority))
	if !ok || !n.mayTransfer() {
		return
	}
	n.tasks.Go(func() {
		if err := n.transfer(ctx, r, to, own.reason); err != nil {
			n.log.Warn("leadership not passed on", "to", to.address.String(), "error", err)
			return
		}
		n.log.Info("leadership passed on", "to", to.address.String(), "reason", own.reason)
	})
}

// mayTransfer tells whether it is time for an attempt, and takes it.
func (n *Node) mayTransfer() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if n.transferring || now.Before(n.nextTransfer) {
		return false
	}
	n.transferring, n.nextTransfer = true, now.Add(4*n.cfg.Heartbeat)
	return true
}

// transfer lets go of the addresses, gives its word to the voters, and has the other one stand. mayTransfer comes before.
//
// Once the word is given this term is over for the addresses, whatever becomes of the transfer: if it fails, this node says
// nothing more as the leader, and the others elect.
func (n *Node) transfer(ctx context.Context, r *raft.Raft, to candidate, reason string) error {
	defer n.transferred()
	term := r.CurrentTerm()
	if r.State() != raft.Leader {
		return raft.ErrNotLeader
	}
	n.noteCause(n.cfg.Self.String(), reason)
	n.setGiven(term)
	if !n.emptied(ctx) {
		n.setGiven(0)
		return errors.New("an address could not be released in time")
	}
	if err := n.giveWord(ctx, term, to, reason); err != nil {
		n.transport.mute(term)
		return err
	}
	if err := r.LeadershipTransferToServer(to.id, raft.ServerAddress(to.address.String())).Error(); err != nil {
		n.transport.mute(term)
		return fmt.Errorf("transfer: %w", err)
	}
	return nil
}

func (n *Node) transferred() {
	n.mu.Lock()
	n.transferring = false
	n.mu.Unlock()
	n.wake()
}

func (n *Node) setGiven(term uint64) {
	n.mu.Lock()
	n.given = term
	n.mu.Unlock()
	n.wakeAll()
}

// emptied waits until every elector has let go.
func (n *Node) emptied(ctx context.Context) bool {
	limit := time.NewTimer(max(2*n.cfg.Heartbeat, time.Second))
	defer limit.Stop()
	for n.holding() {
		select {
		case <-n.freed:
		case <-limit.C:
			return false
		case <-ctx.Done():
			return !n.holding()
		}
	}
	return true
}

// giveWord tells every voter that this node lets go in its term, and waits for a majority and the taker.
func (n *Node) giveWord(ctx context.Context, term uint64, to candidate, reason string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.cfg.Heartbeat)
	defer cancel()
	word := message{Kind: askRelease, From: n.cfg.Self, Term: term, To: string(to.id), Reason: clip(reason)}
	servers := slices.DeleteFunc(n.servers(), func(s raft.Server) bool { return s.Suffrage != raft.Voter })
	told := make(chan raft.ServerID, len(servers))
	for _, s := range servers {
		n.tasks.Go(func() {
			if n.tell(ctx, s, word) {
				told <- s.ID
			}
		})
	}
	for heard, taker := 0, false; heard <= len(servers)/2 || !taker; heard++ {
		select {
		case id := <-told:
			taker = taker || id == to.id
		case <-ctx.Done():
			return errors.New("the word that this node lets go was not heard by a majority")
		}
	}
	return nil
}

// tell gives the word to one voter, which may be this node.
func (n *Node) tell(ctx context.Context, s raft.Server, word message) bool {
	if s.ID == n.id {
		return n.transport.letGo(release{term: word.Term, to: raft.ServerID(word.To)})
	}
	_, err := n.plumbing.ask(ctx, addressOf(s.Address), word)
	return err == nil
}

// transferBeforeLeaving passes leadership on to whoever is best, so that nobody has to find out that this node is gone.
func (n *Node) transferBeforeLeaving(ctx context.Context, r *raft.Raft) {
	for r.State() == raft.Leader && ctx.Err() == nil {
		to, ok := best(n.candidates(0))
		if !ok {
			return
		}
		n.mu.Lock()
		busy := n.transferring
		n.transferring = true
		n.mu.Unlock()
		if !busy {
			if err := n.transfer(ctx, r, to, "stopping"); err != nil {
				n.log.Debug("leadership not passed on", "error", err)
			}
			return
		}
		select { // an attempt goes on already
		case <-n.look:
		case <-ctx.Done():
		}
	}
}
