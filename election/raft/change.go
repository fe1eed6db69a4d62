package raft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/hashicorp/raft"
)

// lead does what only the leader does: it lets in who has asked to join, gives a vote to who has caught up, and removes who is
// dead, one at a time; and it passes leadership on.
func (n *Node) lead(ctx context.Context, r *raft.Raft) {
	n.considerTransfer(ctx, r)
	n.mu.Lock()
	busy := n.transferring || n.changing
	n.mu.Unlock()
	if busy {
		return
	}
	what, change := n.nextChange(r)
	if change == nil {
		return
	}
	n.setChanging(true)
	n.tasks.Go(func() {
		done := n.tidy(what, change)
		n.setChanging(false)
		if done {
			n.wake() // for the next one
		}
	})
}

func (n *Node) setChanging(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changing = on
}

// changeTime bounds one change of the membership.
func (n *Node) changeTime() time.Duration { return max(4*n.cfg.Heartbeat, 2*time.Second) }

// tidy makes a change of the membership, and tells whether it has.
func (n *Node) tidy(what string, change func() error) bool {
	if err := change(); err != nil {
		n.log.Warn("the raft membership was not changed", "step", what, "error", err)
		return false
	}
	n.log.Info("raft membership changed", "step", what)
	return true
}

// nextChange is the next thing to do for the membership; nil for nothing.
func (n *Node) nextChange(r *raft.Raft) (string, func() error) {
	servers := n.servers()
	n.mu.Lock()
	defer n.mu.Unlock()
	for a, k := range n.joins {
		if k.term == r.CurrentTerm() {
			if what, change := n.letIn(r, servers, a, k.id); change != nil {
				return what, change
			}
		}
		delete(n.joins, a)
	}
	now := time.Now()
	for _, s := range servers {
		a := addressOf(s.Address)
		h := n.heard[a]
		if s.Suffrage == raft.Nonvoter && h.fresh(now, n.pace()) && h.ID == string(s.ID) && h.Last >= r.CommitIndex() {
			return "a vote for " + a.String(), func() error { return r.AddVoter(s.ID, s.Address, 0, n.changeTime()).Error() }
		}
	}
	return n.dead(r, servers, now)
}

// letIn is the next step towards a member that has asked to join; nil when it is one. Its former identity goes first: what that
// has voted, if it ever did, the node does not know, so that it must never vote again. It may be that of a node on the list
// which starts for the first time, after the others. The caller holds the lock.
func (n *Node) letIn(r *raft.Raft, servers []raft.Server, a netip.Addr, id raft.ServerID) (string, func() error) {
	for _, s := range servers {
		switch {
		case s.ID == id:
			return "", nil
		case addressOf(s.Address) == a:
			return "the former vote of " + a.String() + " is void: it joins with an empty store", func() error { return r.RemoveServer(s.ID, 0, n.changeTime()).Error() }
		}
	}
	return "entry of " + a.String(), func() error {
		return r.AddNonvoter(id, raft.ServerAddress(a.String()), 0, n.changeTime()).Error()
	}
}

// dead is the removal of a voter that has been silent for too long, if the operator wants that and a majority of what is left
// lives, with one to spare. The caller holds the lock.
func (n *Node) dead(r *raft.Raft, servers []raft.Server, now time.Time) (string, func() error) {
	if n.cfg.RemoveDead <= 0 {
		return "", nil
	}
	for _, s := range servers {
		a := addressOf(s.Address)
		h := n.heard[a]
		if s.ID == n.id || h.at.IsZero() || now.Sub(h.at) < n.cfg.RemoveDead {
			continue
		}
		if left, live := n.without(servers, s.ID, now); live <= left/2 || left < 2 {
			continue
		}
		return "removal of " + a.String() + ", silent for " + now.Sub(h.at).Round(time.Second).String(),
			func() error { return r.RemoveServer(s.ID, 0, n.changeTime()).Error() }
	}
	return "", nil
}

// without counts the voters that would be left, and those of them that live. The caller holds the lock.
func (n *Node) without(servers []raft.Server, gone raft.ServerID, now time.Time) (left, live int) {
	for _, s := range servers {
		if s.ID == gone || s.Suffrage != raft.Voter {
			continue
		}
		left++
		if h := n.heard[addressOf(s.Address)]; s.ID == n.id || h.fresh(now, n.pace()) && h.ID == string(s.ID) {
			live++
		}
	}
	return left, live
}

// requestJoin asks the leader to be let in, when it says that it does not know this node.
func (n *Node) requestJoin(ctx context.Context) {
	n.mu.Lock()
	now := time.Now()
	unknown := !n.stranger.IsZero() && now.Sub(n.stranger) > n.pace()
	var leader netip.Addr
	for a, h := range n.heard {
		if h.State == raft.Leader.String() && h.fresh(now, n.pace()) {
			leader = a
		}
	}
	busy := n.joining
	n.joining = unknown && leader.IsValid()
	n.mu.Unlock()
	if busy || !unknown || !leader.IsValid() {
		return
	}
	n.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, n.changeTime())
		defer cancel()
		_, err := n.plumbing.ask(ctx, leader, message{Kind: askJoin, From: n.cfg.Self, ID: string(n.id)})
		n.mu.Lock()
		defer n.mu.Unlock()
		n.joining, n.refused = false, ""
		if err != nil {
			n.refused = err.Error()
		}
	})
}

// answerJoin lets in who is on the list, or was invited.
func (n *Node) answerJoin(m message) message {
	r := n.raft.Load()
	if r == nil || r.State() != raft.Leader {
		return n.no("not the leader")
	}
	listed := n.roster.has(m.From)
	for _, s := range n.servers() {
		listed = listed || addressOf(s.Address) == m.From
	}
	if !listed {
		return n.no(fmt.Sprintf("%s is no member of this cluster: keepvip member add %s on one that is, or list it there under raft.peers and reload", m.From, m.From))
	}
	if m.ID == "" {
		return n.no("no identity")
	}
	n.mu.Lock()
	n.joins[m.From] = joinRequest{id: raft.ServerID(m.ID), term: r.CurrentTerm()}
	n.mu.Unlock()
	n.wake()
	return n.yes()
}

// Change adds or removes a member, on whichever node it is called: it is the leader that does it. The error says why not.
func (n *Node) Change(ctx context.Context, op string, subject netip.Addr) error {
	if (op != OpAdd && op != OpRemove) || !plain(subject) {
		return fmt.Errorf("raft: %s %s, want add or remove of an address", op, subject)
	}
	ask := message{Kind: askChange, From: n.cfg.Self, Op: op, Subject: subject}
	err := errors.New("no leader is known: without a majority the membership cannot be changed; see: keepvip member recover")
	for ctx.Err() == nil {
		var res message
		if leader := n.outlook().leader; leader == n.cfg.Self {
			res = n.answerChange(ask)
			err = nil
			if res.Error != "" {
				err = errors.New(res.Error)
			}
		} else if leader.IsValid() {
			res, err = n.plumbing.ask(ctx, leader, ask)
		} else {
			res.Retry = true
		}
		if err == nil || !res.Retry {
			return err
		}
		select {
		case <-time.After(n.cfg.Heartbeat / 2):
		case <-ctx.Done():
		}
	}
	return err
}

// answerChange carries out what an operator wants.
func (n *Node) answerChange(m message) message {
	r := n.raft.Load()
	if r == nil || r.State() != raft.Leader {
		res := n.no("not the leader any more")
		res.Retry = true
		return res
	}
	var err error
	switch m.Op {
	case OpAdd:
		err = n.invite(r, m.Subject)
	case OpRemove:
		if m.Subject == n.cfg.Self {
			return n.removeSelf(r)
		}
		err = n.remove(r, m.Subject)
	default:
		err = fmt.Errorf("no change %q", m.Op)
	}
	if err != nil {
		return n.no(err.Error())
	}
	n.wake()
	return n.yes()
}

func (n *Node) invite(r *raft.Raft, a netip.Addr) error {
	for _, s := range n.servers() {
		if addressOf(s.Address) == a {
			return nil
		}
	}
	return n.apply(r, command{Invite: a})
}

func (n *Node) apply(r *raft.Raft, c command) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("raft: entry: %w", err)
	}
	f := r.Apply(data, n.changeTime())
	if err := f.Error(); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	if err, ok := f.Response().(error); ok {
		return err
	}
	return nil
}

// remove takes an address out, if a majority of what is left lives.
func (n *Node) remove(r *raft.Raft, a netip.Addr) error {
	if err := n.apply(r, command{Disinvite: a}); err != nil {
		return err
	}
	n.mu.Lock()
	delete(n.joins, a)
	n.mu.Unlock()
	for _, s := range n.servers() {
		if addressOf(s.Address) != a {
			continue
		}
		n.mu.Lock()
		left, live := n.without(n.servers(), s.ID, time.Now())
		n.mu.Unlock()
		if s.Suffrage == raft.Voter && (left == 0 || live <= left/2) {
			return fmt.Errorf("without %s %d voters would be left, of which %d live: not a majority; bring others back first", a, left, live)
		}
		return r.RemoveServer(s.ID, 0, n.changeTime()).Error()
	}
	return nil
}

// removeSelf passes leadership on, after which the next leader can remove this node.
func (n *Node) removeSelf(r *raft.Raft) message {
	to, ok := best(n.candidates(0))
	if !ok {
		return n.no("this node leads, and no other member could hold the addresses: add one first")
	}
	res := n.no("leadership is being passed on first")
	res.Retry = true
	if n.mayTransfer() {
		if err := n.transfer(context.Background(), r, to, "uid 0 asked to remove this node"); err != nil {
			res.Error = clip(err.Error())
		}
	}
	return res
}
