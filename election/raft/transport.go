package raft

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// wire is what the library's transports have in common.
type wire interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
}

var (
	errLocked  = errors.New("raft: this node follows a leader, or has just started")
	errNoVoice = errors.New("raft: this node's vote does not count yet")
	errRival   = errors.New("raft: another one stands for election, too")
	errMuted   = errors.New("raft: this term is given up")
	errStill   = errors.New("raft: this node stands still")
)

// transport stands between the library and the wire. It keeps this node's vote lock on one side, and computes the lease from
// the vote locks of the others on the other.
//
// What arrives is handed on one at a time, heartbeats too: a heartbeat that overtakes the main loop, as the library has it,
// could be acknowledged in the middle of an election of our own.
type transport struct {
	wire
	self    raft.ServerID
	address raft.ServerAddress
	rpcs    chan raft.RPC
	done    chan struct{}
	relayed chan struct{}
	leaving sync.Once
	closing sync.Once

	heartbeat  time.Duration
	voice      func() bool              // whether this node's vote counts
	listed     func(raft.ServerID) bool // whether it does for that candidate
	still      func() bool              // whether this node stands still: it says nothing, and hears nothing
	reluctance func() time.Duration     // how much longer than others it waits before it stands
	acked      func()                   // a call has succeeded
	again      func()                   // heartbeats have left together, and the next ones are to wait here
	pacing     *pacing

	mu      sync.Mutex // guards what follows
	lock    voteLock
	acks    acks
	muted   uint64 // no calls in this term
	rival   standing
	own     standing  // of this node
	pending *question // of a rival, that the library has not answered; nil: there is none
}

// standing is that a node stands for election: a rival that this node would vote for, or this node itself.
type standing struct {
	id   raft.ServerID
	term uint64
	at   time.Time

	lastTerm, lastIndex uint64 // of its log
}

func standingOf(id raft.ServerID, c *raft.RequestPreVoteRequest, at time.Time) standing {
	return standing{id: id, term: c.Term, at: at, lastTerm: c.LastLogTerm, lastIndex: c.LastLogIndex}
}

// newer tells whether it has the newer log (Raft, section 5.4.1): the other one cannot have its vote.
func (s standing) newer(o standing) bool {
	return s.lastTerm > o.lastTerm || s.lastTerm == o.lastTerm && s.lastIndex > o.lastIndex
}

// before tells which of two goes on: the one with the newer log, and of equals the one with the lesser name.
func (s standing) before(o standing) bool { return s.newer(o) || !o.newer(s) && s.id < o.id }

// question is whether a node that stands would be elected.
type question struct {
	of       standing
	answered chan struct{}
}

// recent tells that it stands in this term, and may still be elected.
func (s standing) recent(term uint64, now time.Time, heartbeat time.Duration) bool {
	return s.term == term && now.Sub(s.at) < heartbeat/2
}

var (
	_ raft.Transport   = (*transport)(nil)
	_ raft.WithPreVote = (*transport)(nil)
	_ raft.WithClose   = (*transport)(nil)
)

func newTransport(w wire, self raft.ServerID, cfg Config) *transport {
	return &transport{
		wire: w, self: self, address: raft.ServerAddress(cfg.Self.String()), rpcs: make(chan raft.RPC), done: make(chan struct{}), relayed: make(chan struct{}),
		heartbeat: cfg.Heartbeat, still: func() bool { return false }, lock: voteLock{hold: cfg.Heartbeat}, pacing: newPacing(cfg.Heartbeat),
	}
}

// start begins to hand on what arrives. Until then it waits.
func (t *transport) start(hold time.Duration) {
	t.mu.Lock()
	t.lock.begin(time.Now(), hold)
	t.mu.Unlock()
	go t.relay()
}

func (t *transport) relay() {
	defer close(t.relayed)
	for {
		select {
		case rpc := <-t.wire.Consumer():
			t.relayOne(rpc)
		case <-t.done:
			return
		}
	}
}

// relayOne hands one call to the library and its answer back.
func (t *transport) relayOne(rpc raft.RPC) {
	if err := t.screen(rpc.Command); err != nil {
		rpc.Respond(nil, err)
		return
	}
	answer := make(chan raft.RPCResponse, 1)
	select {
	case t.rpcs <- raft.RPC{Command: rpc.Command, Reader: rpc.Reader, RespChan: answer}:
	case <-t.done:
		rpc.Respond(nil, raft.ErrTransportShutdown)
		return
	}
	select {
	case r := <-answer:
		t.answered(rpc.Command, r)
		rpc.RespChan <- r
	case <-t.done:
		rpc.Respond(nil, raft.ErrTransportShutdown)
	}
}

// screen refuses what would break the vote lock, and begins it for what will be acknowledged: before the library sees the call,
// as it may stand for election the moment after.
func (t *transport) screen(command any) error {
	if t.still() {
		return errStill
	}
	if c, vote := command.(raft.WithRPCHeader); vote && isVote(command) && !t.voice() && !t.listed(raft.ServerID(c.GetRPCHeader().ID)) {
		return errNoVoice
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	switch c := command.(type) {
	case *raft.AppendEntriesRequest:
		t.lock.follow(now, c.Term, raft.ServerID(c.ID))
	case *raft.RequestPreVoteRequest:
		return t.mayEncourage(standingOf(raft.ServerID(c.ID), c, now))
	case *raft.RequestVoteRequest:
		// The library takes this flag for the consent of any leader; the vote lock knows of which.
		c.LeadershipTransfer = c.LeadershipTransfer && t.lock.freed(c.Term, raft.ServerID(c.ID))
		return t.mayVote(now, c.Term, raft.ServerID(c.ID))
	case *raft.TimeoutNowRequest:
		if !t.lock.mayStandAtOnce(t.self) {
			return errLocked
		}
	}
	return nil
}

func isVote(command any) bool {
	switch command.(type) {
	case *raft.RequestPreVoteRequest, *raft.RequestVoteRequest:
		return true
	}
	return false
}

// mayEncourage tells whether a node may be told that it would get this node's vote. The caller holds the lock.
func (t *transport) mayEncourage(c standing) error {
	if err := t.mayVote(c.at, c.term, c.id); err != nil {
		return err
	}
	if t.own.recent(c.term, c.at, t.heartbeat) && !c.newer(t.own) {
		return errRival // this node's vote is its own by now
	}
	t.pending = &question{of: c, answered: make(chan struct{})}
	return nil
}

func (t *transport) mayVote(now time.Time, term uint64, candidate raft.ServerID) error {
	if !t.lock.allows(now, term, candidate) {
		return errLocked
	}
	return nil
}

// answered notes what the library has done with a call. The lock begins once more, however long that took.
func (t *transport) answered(command any, r raft.RPCResponse) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch c := command.(type) {
	case *raft.AppendEntriesRequest:
		if res, ok := r.Response.(*raft.AppendEntriesResponse); ok && res.Success {
			t.lock.follow(now, c.Term, raft.ServerID(c.ID))
		}
	case *raft.RequestPreVoteRequest:
		rival := standingOf(raft.ServerID(c.ID), c, now)
		res, ok := r.Response.(*raft.RequestPreVoteResponse)
		if ok && res.Granted && !(t.rival.recent(c.Term, now, t.heartbeat) && t.rival.before(rival)) {
			t.rival = rival
		}
		if t.pending != nil {
			close(t.pending.answered)
			t.pending = nil
		}
	}
}

// LocalAddr implements raft.Transport: the address by which the configuration has this node. With the port, which the wire
// would add, the leader that the others hear of is none of the members.
func (t *transport) LocalAddr() raft.ServerAddress { return t.address }

// Consumer implements raft.Transport.
func (t *transport) Consumer() <-chan raft.RPC { return t.rpcs }

// SetHeartbeatHandler implements raft.Transport: there is none.
func (t *transport) SetHeartbeatHandler(func(raft.RPC)) {}

// AppendEntriesPipeline implements raft.Transport. The start of a pipelined call is not known well enough.
func (t *transport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// AppendEntries implements raft.Transport.
func (t *transport) AppendEntries(id raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if isHeartbeat(args) && t.pacing.wait(id, t.done) {
		t.again()
	}
	if t.still() {
		return errStill
	}
	if t.isMuted(args.Term) {
		return errMuted
	}
	start := time.Now()
	err := t.wire.AppendEntries(id, to, args, resp)
	t.pacing.note(id, time.Since(start), err)
	if t.still() { // whatever came meanwhile was not heard
		return errStill
	}
	if err != nil || !resp.Success || resp.Term != args.Term {
		return err
	}
	t.mu.Lock()
	t.acks.add(args.Term, id, start)
	t.mu.Unlock()
	t.acked()
	return nil
}

// isHeartbeat tells a call that only keeps a member following from one that brings it entries.
func isHeartbeat(args *raft.AppendEntriesRequest) bool {
	return len(args.Entries) == 0 && args.PrevLogEntry == 0 && args.LeaderCommitIndex == 0
}

func (t *transport) isMuted(term uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return term != 0 && term == t.muted
}

// RequestPreVote implements raft.WithPreVote. A node that still owes its vote to the leader is asked again, and so is one whose library has not noticed yet
// that this is over: the library here would ask when its election begins anew, after one or two heartbeat timeouts. By then it has given this call up.
func (t *transport) RequestPreVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	for end := time.Now().Add(t.heartbeat); ; {
		if err := t.mayStand(args.Term); err != nil {
			return err
		}
		err := t.wire.RequestPreVote(id, to, args, resp)
		if err == nil && resp.Granted {
			return t.yields(standingOf(t.self, args, time.Time{}))
		}
		pause := t.heartbeat / 20
		if again := owed(err) || err == nil && resp.Term <= args.Term; !again || time.Until(end) < pause {
			return err
		}
		select {
		case <-time.After(pause):
		case <-t.done:
			return raft.ErrTransportShutdown
		}
	}
}

// owed tells that another node has refused because of its vote lock. The wire carries the text alone.
func owed(err error) bool { return err != nil && err.Error() == errLocked.Error() }

// yields keeps two nodes that stand at the same moment from taking each other's votes away: one of them waits, unless it was sooner. It knows
// when the library has decided about the other one.
func (t *transport) yields(own standing) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.pending != nil && t.pending.of.before(own) {
		pending, shut := t.pending, false
		t.mu.Unlock()
		select {
		case <-pending.answered:
		case <-t.done:
			shut = true
		}
		t.mu.Lock()
		if shut {
			return raft.ErrTransportShutdown
		}
	}
	own.at = time.Now()
	if t.rival.recent(own.term, own.at, t.heartbeat) && t.rival.before(own) {
		return errRival
	}
	t.own = own
	return nil
}

// RequestVote implements raft.Transport.
func (t *transport) RequestVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	if err := t.mayStand(args.Term); err != nil {
		return err
	}
	return t.wire.RequestVote(id, to, args, resp)
}

func (t *transport) mayStand(term uint64) error {
	if t.still() {
		return errStill
	}
	reluctance, voice := t.reluctance(), t.voice()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !voice || !t.lock.mayStand(time.Now(), term, t.self, reluctance) {
		return fmt.Errorf("not standing for election: %w", errLocked)
	}
	return nil
}

// since is the newest time since when a majority is known to follow this node in a term; zero for never.
func (t *transport) since(term uint64, voters []raft.ServerID) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.acks.quorum(term, t.self, voters, time.Now())
}

// letGo takes another leader's word that it lets go.
func (t *transport) letGo(r release) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lock.letGo(r)
}

// mute ends a leadership that cannot be passed on: the others elect when they hear nothing.
func (t *transport) mute(term uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.muted = term
}

// following is when this node has last followed a leader, plus its vote lock.
func (t *transport) following() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lock.until
}

// leave ends what waits for the library, before that is shut down: it reads no more calls then, and closes this transport only when
// its own calls have ended.
func (t *transport) leave() { t.leaving.Do(func() { close(t.done) }) }

// Close implements raft.WithClose. It returns when nothing is handed on any more.
func (t *transport) Close() error {
	t.leave()
	var err error
	t.closing.Do(func() {
		err = t.wire.Close()
		<-t.relayed
	})
	return err
}
