package raft

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// transfer passes leadership on, the addresses off before; one at a time. Safe for concurrent use.
type transfer struct {
	*plumbing
	cluster   *cluster
	addresses *addresses
	lease     *lease
	gossip    *gossip
	cause     *cause

	mu    sync.Mutex // guards what follows
	going *attempt   // nil: none goes on
	next  time.Time  // when this node by itself may try again
}

// attempt is a transfer that goes on, or has ended.
type attempt struct {
	ended chan struct{} // closed at its end
	to    candidate     // after the end: who leads
	err   error         // after the end: why nobody was made to lead
}

// begin takes the place of the only one; false when another one goes on.
func (t *transfer) begin() (*attempt, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.going != nil {
		return t.going, false
	}
	t.going = &attempt{ended: make(chan struct{})}
	return t.going, true
}

// tryBegin is begin for attempts that nobody asked for: not one right after the other.
func (t *transfer) tryBegin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.going != nil || now.Before(t.next) {
		return false
	}
	t.going, t.next = &attempt{ended: make(chan struct{})}, now.Add(4*t.cfg.Heartbeat)
	return true
}

func (t *transfer) end(to candidate, err error) {
	t.mu.Lock()
	t.going.to, t.going.err = to, err
	close(t.going.ended)
	t.going = nil
	t.mu.Unlock()
	t.look.Send()
}

func (t *transfer) underway() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.going != nil
}

// consider passes leadership on when this node is not at its best and another is better. Of equals nobody moves: when all are
// unfit, the address stays.
func (t *transfer) consider(ctx context.Context) {
	own := t.addresses.fitness()
	if !own.impaired {
		return
	}
	list := t.gossip.view().candidates(own.priority)
	if len(list) == 0 || !t.tryBegin() {
		return
	}
	why := word{own.code, own.reason}
	if t.cfg.Stopping != nil && t.cfg.Stopping() {
		why = stopping
	}
	t.tasks.Go(func() {
		to, err := t.handOver(ctx, list, why)
		if err != nil {
			t.log.Warn("leadership not passed on", "error", err)
			return
		}
		t.log.Info("leadership passed on", "to", to.address.String(), "reason", why.text)
	})
}

// handOver passes leadership on to the best of them that answers, and tells who that is. begin comes before.
func (t *transfer) handOver(ctx context.Context, list []candidate, why word) (to candidate, err error) {
	defer func() { t.end(to, err) }()
	to, err = t.answering(ctx, list)
	if err != nil {
		return candidate{}, err
	}
	if err := t.handTo(ctx, to, why); err != nil {
		return candidate{}, fmt.Errorf("to %s: %w", to.address, err)
	}
	return to, nil
}

// answering is the best of them that answers now. What a node has said counts for some paces, and it may have died since then.
func (t *transfer) answering(ctx context.Context, list []candidate) (candidate, error) {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Heartbeat)
	defer cancel()
	hello := t.gossip.hello()
	answers := make(chan candidate, len(list))
	for _, c := range list {
		t.tasks.Go(func() {
			if _, err := t.ask(ctx, c.address, hello); err == nil {
				answers <- c
			}
		})
	}
	wanted, _ := best(list)
	patience := time.NewTimer(t.cfg.Heartbeat / 4)
	defer patience.Stop()
	var live []candidate
	for late := false; ; {
		select {
		case c := <-answers:
			live = append(live, c)
		case <-patience.C:
			late = true
		case <-ctx.Done():
			return candidate{}, fmt.Errorf("no answer from a node that could take the addresses within %v", t.cfg.Heartbeat)
		}
		if to, ok := best(live); ok && (late || to.id == wanted.id) {
			return to, nil
		}
	}
}

// handTo lets go of the addresses, gives its word to the voters, and has the other one stand.
//
// Once the word is given this term is over for the addresses, whatever becomes of the transfer: if it fails, this node says
// nothing more as the leader, and the others elect.
func (t *transfer) handTo(ctx context.Context, to candidate, why word) error {
	r := t.cluster.library.Load()
	term := r.CurrentTerm() // before the look at the state: the word must not be given in the name of another leader
	if r.State() != raft.Leader {
		return raft.ErrNotLeader
	}
	t.cause.note(t.gossip.node(t.cfg.Self), why)
	t.lease.give(term)
	t.addresses.wakeAll()
	if !t.emptied(ctx) {
		t.lease.give(0)
		t.addresses.wakeAll()
		return errors.New("an address could not be released in time")
	}
	if err := t.giveWord(ctx, term, to, why); err != nil {
		t.cluster.transport.mute(term)
		return err
	}
	if err := r.LeadershipTransferToServer(to.id, raft.ServerAddress(to.address.String())).Error(); err != nil {
		t.cluster.transport.mute(term)
		return fmt.Errorf("transfer: %w", err)
	}
	return nil
}

// emptied waits until every elector has let go.
func (t *transfer) emptied(ctx context.Context) bool {
	limit := time.NewTimer(max(2*t.cfg.Heartbeat, time.Second))
	defer limit.Stop()
	for t.addresses.holding() {
		select {
		case <-t.addresses.freed:
		case <-limit.C:
			return false
		case <-ctx.Done():
			return !t.addresses.holding()
		}
	}
	return true
}

// giveWord tells every voter that this node lets go in its term, and waits for a majority and the taker.
func (t *transfer) giveWord(ctx context.Context, term uint64, to candidate, why word) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.cfg.Heartbeat)
	defer cancel()
	said := message{Kind: askRelease, From: t.cfg.Self, Term: term, To: string(to.id), Reason: textOf(why.text), Code: why.code}
	servers := slices.DeleteFunc(t.cluster.servers(), func(s raft.Server) bool { return s.Suffrage != raft.Voter })
	told := make(chan raft.ServerID, len(servers))
	for _, s := range servers {
		t.tasks.Go(func() {
			if t.tell(ctx, s, said) {
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
func (t *transfer) tell(ctx context.Context, s raft.Server, said message) bool {
	if s.ID == t.cluster.self() {
		return t.cluster.transport.letGo(release{term: said.Term, to: raft.ServerID(said.To)})
	}
	_, err := t.ask(ctx, addressOf(s.Address), said)
	return err == nil
}

// stopping is why a node passes leadership on whose program ends, whichever of its parts ends first.
var stopping = word{code.Stopping, "stopping"}

// beforeLeaving passes leadership on to whoever is best, so that nobody has to find out that this node is gone.
func (t *transfer) beforeLeaving(ctx context.Context) {
	for t.cluster.leading() != nil && ctx.Err() == nil {
		list := t.gossip.view().candidates(0)
		if len(list) == 0 {
			return
		}
		other, ok := t.begin()
		if ok {
			if _, err := t.handOver(ctx, list, stopping); err != nil {
				t.log.Debug("leadership not passed on", "error", err)
			}
			return
		}
		select {
		case <-other.ended:
		case <-ctx.Done():
		}
	}
}

// Handover passes leadership on to the node of that address or name, or with an empty one to whoever is best, and with it every
// address that is elected by this cluster. It returns when the other one leads; or election.ErrNotActive, ErrNoTaker or
// ErrTimeout.
func (e *Elector) Handover(ctx context.Context, to string) error {
	t := &e.node.transfer
	if e.state() != election.Active {
		return election.ErrNotActive
	}
	list := t.gossip.view().candidates(unfitPriority) // it would serve nobody, and would not give the address back
	if to != "" {
		list = slices.DeleteFunc(list, func(c candidate) bool { return c.address.String() != to && t.gossip.of(c.address).Node != to })
	}
	if len(list) == 0 {
		return election.ErrNoTaker
	}
	other, ok := t.begin()
	if ok { // several addresses move together: the first one asks
		if _, err := t.handOver(ctx, list, e.handoverReason(ctx, to)); err != nil {
			return fmt.Errorf("%w: %w", election.ErrTimeout, err)
		}
		return nil
	}
	select {
	case <-other.ended:
	case <-ctx.Done():
		return election.ErrTimeout
	}
	switch {
	case other.err != nil:
		return fmt.Errorf("%w: %w", election.ErrTimeout, other.err)
	case to != "" && !slices.ContainsFunc(list, func(c candidate) bool { return c.id == other.to.id }):
		return fmt.Errorf("%w: leadership went to %s just before", election.ErrNotActive, other.to.address)
	}
	return nil
}

// handoverReason is what the others are told: what made somebody ask if that is known, as that an operator drains or holds this node.
func (e *Elector) handoverReason(ctx context.Context, to string) word {
	var w word
	w.code, w.text = election.HandoverReason(ctx, to)
	f, _ := e.fit()
	switch {
	case f.Reason == "":
		return w
	case to == "" && w.code == code.Handover && (f.Code == code.Drained || f.Code == code.Held):
		return word{f.Code, f.Reason}
	}
	w.text += "; " + f.Reason
	return w
}
