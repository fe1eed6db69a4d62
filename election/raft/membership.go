package raft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/keepvip/keepvip/internal/base/code"
)

// membership is who is a member. The leader lets in who has asked to join, gives a vote to who has caught up, and removes who is
// dead or whom an operator wants away, one at a time. Safe for concurrent use.
type membership struct {
	*plumbing
	cluster  *cluster
	gossip   *gossip
	transfer *transfer
	roster   roster
	changing atomic.Bool
	inviting sync.Mutex // held while an invitation changes, with the removal of the member

	mu    sync.Mutex // guards joins
	joins map[netip.Addr]joinRequest
}

// joinRequest says that a node asks to be let in, told to the leader of a term. In another term it counts no more: the node may have
// been in, and removed, since then. It asks again as long as it is out.
type joinRequest struct {
	id   raft.ServerID
	term uint64
}

// change is one step of the membership. It tells whether there was still something to do.
type change func() (done bool, err error)

// next makes the next change, if there is one to make.
func (m *membership) next() {
	r := m.cluster.leading()
	if r == nil || m.transfer.underway() || m.changing.Load() {
		return
	}
	step, change := m.nextChange(r)
	if change == nil {
		return
	}
	m.changing.Store(true)
	m.tasks.Go(func() {
		done, err := change()
		m.changing.Store(false)
		if err != nil {
			m.log.Warn("the raft membership was not changed", "step", step, "error", err)
			return
		}
		if done {
			m.log.Info("raft membership changed", "step", step)
		}
		m.look.Send() // for the next one
	})
}

// nextChange is the next thing to do for the membership; nil for nothing.
func (m *membership) nextChange(r *raft.Raft) (string, change) {
	v := m.gossip.view()
	if step, change := m.nextJoin(r, v.servers); change != nil {
		return step, change
	}
	if s, ok := v.caughtUp(r.CommitIndex()); ok {
		return "a vote for " + string(s.Address), m.vote(r, s)
	}
	if s, silent, ok := v.dead(); ok {
		return fmt.Sprintf("removal of %s, silent for %v", s.Address, silent.Round(time.Second)), m.voiding(r, s)
	}
	return "", nil
}

// unlessRemoved makes a change that was chosen a moment before, unless an operator has removed the member since then. The lock keeps the next one out.
// The library has prevIndex for that, but its GetConfiguration does not say the index.
func (m *membership) unlessRemoved(wanted func() (bool, error), do func() error) change {
	return func() (bool, error) {
		m.inviting.Lock()
		defer m.inviting.Unlock()
		if ok, err := wanted(); !ok || err != nil {
			return false, err
		}
		return true, do()
	}
}

// vote makes a member a voter.
func (m *membership) vote(r *raft.Raft, s raft.Server) change {
	return m.unlessRemoved(
		func() (bool, error) { return m.cluster.has(s.ID, addressOf(s.Address)), nil },
		func() error { return r.AddVoter(s.ID, s.Address, 0, m.cfg.changeTime()).Error() },
	)
}

// voiding removes a member that nobody wanted away: it may come back, whoever leads by then. Where an operator removes it meanwhile it may not.
func (m *membership) voiding(r *raft.Raft, s raft.Server) change {
	return m.unlessRemoved(
		func() (bool, error) { return m.cluster.knows(s.ID), nil },
		func() error {
			if err := m.invited(r, addressOf(s.Address)); err != nil {
				return err
			}
			return m.removal(r, s)
		},
	)
}

// entry makes the node at an address a member, without a vote. The roster says whether it may still be one, with every entry up to now.
func (m *membership) entry(r *raft.Raft, a netip.Addr, id raft.ServerID) change {
	return m.unlessRemoved(
		func() (bool, error) {
			if err := r.Barrier(m.cfg.changeTime()).Error(); err != nil {
				return false, err
			}
			listed := m.lists(a)
			if !listed { // who is not let in is not to be chosen again
				m.mu.Lock()
				delete(m.joins, a)
				m.mu.Unlock()
			}
			return listed, nil
		},
		func() error { return r.AddNonvoter(id, raft.ServerAddress(a.String()), 0, m.cfg.changeTime()).Error() },
	)
}

func (m *membership) removal(r *raft.Raft, s raft.Server) error {
	defer m.gossip.addresses.wakeAll() // without other voters there are no more answers that would tell of a longer lease
	return r.RemoveServer(s.ID, 0, m.cfg.changeTime()).Error()
}

// nextJoin is the next step towards a member that has asked to join; nil where all are members.
func (m *membership) nextJoin(r *raft.Raft, servers []raft.Server) (string, change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for a, k := range m.joins {
		if k.term == r.CurrentTerm() {
			if step, change := m.letIn(r, servers, a, k.id); change != nil {
				return step, change
			}
		}
		delete(m.joins, a)
	}
	return "", nil
}

// letIn is the next step towards a member that has asked to join; nil when it is one. Its former identity goes first: what that
// has voted, if it ever did, the node does not know, so that it must never vote again. It may be that of a node on the list
// which starts for the first time, after the others.
func (m *membership) letIn(r *raft.Raft, servers []raft.Server, a netip.Addr, id raft.ServerID) (string, change) {
	for _, s := range servers {
		switch {
		case s.ID == id:
			return "", nil
		case addressOf(s.Address) == a:
			return fmt.Sprintf("the former vote of %s is void: it joins with an empty store", a), m.voiding(r, s)
		}
	}
	return "entry of " + a.String(), m.entry(r, a, id)
}

// find is the member of an address.
func (m *membership) find(a netip.Addr) (raft.Server, bool) {
	servers := m.cluster.servers()
	i := slices.IndexFunc(servers, func(s raft.Server) bool { return addressOf(s.Address) == a })
	if i < 0 {
		return raft.Server{}, false
	}
	return servers[i], true
}

// lists tells whether an address is a member's, or invited to be one.
func (m *membership) lists(a netip.Addr) bool {
	_, ok := m.find(a)
	return ok || m.roster.has(a)
}

// elsewhere is the address at which the cluster has a member that speaks from another one; the zero Addr for none.
func (m *membership) elsewhere(id raft.ServerID, from netip.Addr) netip.Addr {
	for _, s := range m.cluster.servers() {
		if a := addressOf(s.Address); s.ID == id && a != from {
			return a
		}
	}
	return netip.Addr{}
}

// answerJoin lets in who is on the list, or was invited. A member that speaks from another address may have been moved, or be a copy of a disk whose
// owner is away for a moment: an operator has to say so, as two nodes must not vote as one.
func (m *membership) answerJoin(q message) message {
	r := m.cluster.leading()
	at := m.elsewhere(raft.ServerID(q.ID), q.From)
	switch {
	case r == nil:
		return m.no("not the leader")
	case at.IsValid():
		return m.no(fmt.Sprintf("the cluster has this node at %s: if that was its address, keepvip member remove %s and keepvip member add %s on another node; "+
			"if its disk is a copy, remove raft in its state directory", at, at, q.From))
	case !m.lists(q.From):
		return m.no(fmt.Sprintf("%s is no member of this cluster: keepvip member add %s on one that is, or list it there under raft.peers and reload", q.From, q.From))
	case q.ID == "":
		return m.no("no identity")
	}
	m.mu.Lock()
	m.joins[q.From] = joinRequest{id: raft.ServerID(q.ID), term: r.CurrentTerm()}
	m.mu.Unlock()
	m.look.Send()
	return m.yes()
}

// change has the leader add or remove a member.
func (m *membership) change(ctx context.Context, op string, subject netip.Addr) error {
	if (op != OpAdd && op != OpRemove) || !plain(subject) {
		return fmt.Errorf("raft: %s %s, want add or remove of an address", op, subject)
	}
	q := message{Kind: askChange, From: m.cfg.Self, Op: op, Subject: subject}
	err := errors.New("no leader is known: without a majority the membership cannot be changed; see: keepvip member recover")
	for ctx.Err() == nil {
		res := message{Retry: true}
		if leader := m.cluster.leader(); leader == m.cfg.Self {
			res, err = m.answerChange(q), nil
			if res.Error != "" {
				err = errors.New(res.Error)
			}
		} else if leader.IsValid() {
			res, err = m.ask(ctx, leader, q)
		}
		if err == nil || !res.Retry {
			return err
		}
		select {
		case <-time.After(m.cfg.Heartbeat / 2):
		case <-ctx.Done():
		}
	}
	return err
}

// answerChange carries out what an operator wants.
func (m *membership) answerChange(q message) message {
	r := m.cluster.leading()
	if r == nil {
		res := m.no("not the leader any more")
		res.Retry = true
		return res
	}
	var err error
	switch {
	case q.Op == OpAdd:
		err = m.invite(r, q.Subject)
	case q.Op == OpRemove && q.Subject == m.cfg.Self:
		return m.removeSelf()
	case q.Op == OpRemove:
		err = m.remove(r, q.Subject)
	default:
		err = fmt.Errorf("no change %q", q.Op)
	}
	if err != nil {
		return m.no(err.Error())
	}
	m.look.Send()
	return m.yes()
}

func (m *membership) invite(r *raft.Raft, a netip.Addr) error {
	m.inviting.Lock()
	defer m.inviting.Unlock()
	if _, ok := m.find(a); ok {
		return nil
	}
	return m.invited(r, a)
}

// invited has the address in the roster, for which another one may have to go. The caller holds the lock.
func (m *membership) invited(r *raft.Raft, a netip.Addr) error {
	var members []netip.Addr
	for _, s := range m.cluster.servers() {
		members = append(members, addressOf(s.Address))
	}
	if old := m.roster.spare(a, members); old.IsValid() {
		if err := m.apply(r, command{Disinvite: old}); err != nil {
			return err
		}
		m.log.Info("too many addresses are invited to the raft cluster: one of them has to go", "address", old.String(), "member", slices.Contains(members, old))
	}
	return m.apply(r, command{Invite: a})
}

func (m *membership) apply(r *raft.Raft, c command) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("raft: entry: %w", err)
	}
	f := r.Apply(data, m.cfg.changeTime())
	if err := f.Error(); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	if err, ok := f.Response().(error); ok {
		return err
	}
	return nil
}

// remove takes an address out, if a majority of what is left lives.
func (m *membership) remove(r *raft.Raft, a netip.Addr) error {
	m.inviting.Lock()
	defer m.inviting.Unlock()
	if err := m.apply(r, command{Disinvite: a}); err != nil {
		return err
	}
	m.mu.Lock()
	delete(m.joins, a)
	m.mu.Unlock()
	s, ok := m.find(a)
	if !ok {
		return nil
	}
	left, live := m.gossip.view().without(s.ID)
	if s.Suffrage == raft.Voter && (left == 0 || live <= left/2) {
		return fmt.Errorf("without %s %d voters would be left, of which %d live: not a majority; bring others back first", a, left, live)
	}
	return m.removal(r, s)
}

// removeSelf passes leadership on, after which the next leader can remove this node.
func (m *membership) removeSelf() message {
	list := m.gossip.view().candidates(0)
	if len(list) == 0 {
		return m.no("this node leads, and no other member could hold the addresses: add one first")
	}
	res := m.no("leadership is being passed on first")
	res.Retry = true
	if m.transfer.tryBegin() {
		if _, err := m.transfer.handOver(context.Background(), list, word{code.Removed, "uid 0 asked to remove this node"}); err != nil {
			res.Error = textOf(err.Error())
		}
	}
	return res
}
