package raft

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// slow is a wire on which calls take their time.
type slow struct {
	*raft.InmemTransport
	takes time.Duration
	term  uint64    // of the answer
	owes  time.Time // until when no vote is promised
	dozes time.Time // until when the library there has not noticed that
	newer uint64    // a term in which it votes by now
	asked int       // for a vote
}

func (s *slow) AppendEntries(_ raft.ServerID, _ raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	time.Sleep(s.takes)
	*resp = raft.AppendEntriesResponse{Term: args.Term, Success: s.term == 0 || s.term == args.Term}
	return nil
}

func (s *slow) RequestPreVote(_ raft.ServerID, _ raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	time.Sleep(s.takes)
	if s.asked++; time.Now().Before(s.owes) {
		return errors.New(errLocked.Error())
	}
	*resp = raft.RequestPreVoteResponse{Term: max(s.newer, args.Term), Granted: s.newer <= args.Term && !time.Now().Before(s.dozes)}
	return nil
}

func newSlow(takes time.Duration) *transport {
	_, inmem := raft.NewInmemTransport("a")
	t := newTransport(&slow{InmemTransport: inmem, takes: takes}, "a", Config{Self: addr(0), Heartbeat: 500 * time.Millisecond})
	t.acked, t.again, t.voice, t.reluctance = func() {}, func() {}, func() bool { return true }, func() time.Duration { return 0 }
	t.listed = func(raft.ServerID) bool { return false }
	return t
}

func TestTransportLeaseBeginsWithTheCallNotItsAnswer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		tr := newSlow(3 * time.Second)
		began := time.Now()
		require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
		assert.Equal(t, began, tr.since(4, []raft.ServerID{"a", "b", "c"}))
		assert.Zero(t, tr.since(5, []raft.ServerID{"a", "b", "c"}))
	})
}

func TestTransportIsKnownByTheAddressOfTheConfiguration(t *testing.T) {
	assert.Equal(t, firstMembers([]netip.Addr{addr(0)}).Servers[0].Address, newSlow(0).LocalAddr())
}

func TestTransportMutedTermIsSilent(t *testing.T) {
	tr := newSlow(0)
	tr.mute(4)
	assert.ErrorIs(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}), errMuted)
	assert.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 5}, &raft.AppendEntriesResponse{}))
}

// The library lets a request to stand, and the votes that follow from it, pass whatever leader there is by now.
func TestTransportTransferNeedsTheWordOfTheLeaderFollowed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		tr := newSlow(0)
		follow := func(term uint64, leader string) {
			require.NoError(t, tr.screen(&raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ID: []byte(leader)}, Term: term}))
		}
		vote := func(term uint64, candidate string) (bool, error) {
			req := &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ID: []byte(candidate)}, Term: term, LeadershipTransfer: true}
			err := tr.screen(req)
			return req.LeadershipTransfer, err
		}
		follow(4, "b")
		require.ErrorIs(t, tr.screen(&raft.TimeoutNowRequest{}), errLocked, "without a word")
		_, err := vote(5, "c")
		require.ErrorIs(t, err, errLocked)

		require.True(t, tr.letGo(release{term: 4, to: "c"}))
		require.ErrorIs(t, tr.screen(&raft.TimeoutNowRequest{}), errLocked, "the word was for another")
		flag, err := vote(5, "c")
		require.NoError(t, err)
		require.True(t, flag)

		follow(6, "d")
		_, err = vote(7, "c")
		require.ErrorIs(t, err, errLocked, "delayed beyond the next leader")
		require.False(t, tr.letGo(release{term: 4, to: "a"}), "a former leader's word")

		time.Sleep(500 * time.Millisecond)
		flag, err = vote(7, "c")
		require.NoError(t, err, "the lock is over")
		assert.False(t, flag, "but that is no transfer")
	})
}

func TestTransportWithoutAVoice(t *testing.T) {
	tr := newSlow(0)
	tr.voice = func() bool { return false }
	assert.ErrorIs(t, tr.screen(&raft.RequestVoteRequest{Term: 1}), errNoVoice)
	assert.ErrorIs(t, tr.screen(&raft.RequestPreVoteRequest{Term: 1}), errNoVoice)
	assert.ErrorIs(t, tr.mayStand(1), errLocked)
}

// Two that stand in one term each have their own vote, and nobody is elected before both have waited once more.
func TestTransportOfTwoThatStandOneGoesOn(t *testing.T) {
	preVote := func(candidate string) *raft.RequestPreVoteRequest {
		return &raft.RequestPreVoteRequest{RPCHeader: raft.RPCHeader{ID: []byte(candidate)}, Term: 5}
	}
	asks := func(tr *transport) error {
		return tr.RequestPreVote("c", "c", preVote("b"), &raft.RequestPreVoteResponse{})
	}
	b := func() *transport {
		tr := newSlow(10 * time.Millisecond)
		tr.self = "b"
		return tr
	}
	bubble.Test(t, func(t *testing.T) {
		tr := b()
		require.NoError(t, asks(tr))
		require.ErrorIs(t, tr.screen(preVote("a")), errRival, "this node asks for votes by now")
		require.NoError(t, tr.screen(&raft.RequestPreVoteRequest{RPCHeader: raft.RPCHeader{ID: []byte("a")}, Term: 6}), "of a later term")
		time.Sleep(tr.heartbeat / 2)
		require.NoError(t, tr.screen(preVote("a")), "it was not elected")
	})
	for _, granted := range []bool{true, false} {
		bubble.Test(t, func(t *testing.T) {
			tr := b()
			answer := make(chan raft.RPCResponse, 1)
			go tr.relayOne(raft.RPC{Command: preVote("a"), RespChan: answer})
			call := <-tr.rpcs
			found := make(chan error, 1)
			go func() { found <- asks(tr) }()
			time.Sleep(time.Second)
			require.Empty(t, found, "the library has not decided about the other one")
			call.Respond(&raft.RequestPreVoteResponse{Term: 5, Granted: granted}, nil)
			<-answer
			if err := <-found; granted {
				require.ErrorIs(t, err, errRival)
			} else {
				require.NoError(t, err, "nobody else can win")
			}
		})
	}
	bubble.Test(t, func(t *testing.T) {
		tr := b()
		tr.self = "0" // before all others
		answer := make(chan raft.RPCResponse, 1)
		go tr.relayOne(raft.RPC{Command: preVote("a"), RespChan: answer})
		call := <-tr.rpcs
		require.NoError(t, asks(tr), "the other one waits")
		call.Respond(&raft.RequestPreVoteResponse{Term: 5, Granted: true}, nil)
	})
}

// A node with the older log cannot have the vote of one with the newer log, which may need this node's. So it does not go on, also if it was sooner,
// and has the lesser name. Else each of its elections, which comes to nothing, would keep the other one from being elected.
func TestTransportOfTwoThatStandTheOneWithTheNewerLogGoesOn(t *testing.T) {
	preVote := func(candidate string, term, index uint64) *raft.RequestPreVoteRequest {
		return &raft.RequestPreVoteRequest{RPCHeader: raft.RPCHeader{ID: []byte(candidate)}, Term: 5, LastLogTerm: term, LastLogIndex: index}
	}
	for name, rival := range map[string]*raft.RequestPreVoteRequest{"longer": preVote("c", 4, 8), "of a later term": preVote("c", 5, 1)} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				tr := newSlow(10 * time.Millisecond)
				tr.self = "b"
				asks := func() error {
					return tr.RequestPreVote("d", "d", preVote("b", 4, 7), &raft.RequestPreVoteResponse{})
				}
				require.NoError(t, asks())
				require.ErrorIs(t, tr.screen(preVote("c", 4, 7)), errRival, "this node asks for votes by now")
				answer := make(chan raft.RPCResponse, 1)
				go tr.relayOne(raft.RPC{Command: rival, RespChan: answer})
				call := <-tr.rpcs
				call.Respond(&raft.RequestPreVoteResponse{Term: 5, Granted: true}, nil)
				require.NoError(t, (<-answer).Error)
				require.ErrorIs(t, asks(), errRival, "its next election comes after the other one's")
				time.Sleep(tr.heartbeat / 2)
				require.NoError(t, asks(), "the other one was not elected")
			})
		})
	}
}

// The library closes the transport when all its calls have ended, and reads no calls by then.
func TestTransportLeavesInTheMiddleOfAnElection(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		tr := newSlow(10 * time.Millisecond)
		tr.self = "b"
		answer := make(chan raft.RPCResponse, 1)
		go tr.relayOne(raft.RPC{Command: &raft.RequestPreVoteRequest{RPCHeader: raft.RPCHeader{ID: []byte("a")}, Term: 5}, RespChan: answer})
		found := make(chan error, 1)
		go func() {
			found <- tr.RequestPreVote("c", "c", &raft.RequestPreVoteRequest{Term: 5}, &raft.RequestPreVoteResponse{})
		}()
		time.Sleep(time.Second)
		require.Empty(t, found)
		tr.leave()
		require.ErrorIs(t, <-found, raft.ErrTransportShutdown)
		require.ErrorIs(t, (<-answer).Error, raft.ErrTransportShutdown)
	})
}

// Nodes that hear a leader at different moments owe it their votes until different moments. One that asks sooner must not wait for its next election.
func TestTransportAsksAgainForAVoteThatIsStillOwed(t *testing.T) {
	asks := func(tr *transport) error {
		return tr.RequestPreVote("b", "b", &raft.RequestPreVoteRequest{Term: 5}, &raft.RequestPreVoteResponse{})
	}
	bubble.Test(t, func(t *testing.T) {
		tr, began := newSlow(time.Millisecond), time.Now()
		tr.wire.(*slow).owes = began.Add(tr.heartbeat / 2)
		require.NoError(t, asks(tr))
		assert.LessOrEqual(t, time.Since(began), tr.heartbeat*6/10)
		assert.LessOrEqual(t, tr.wire.(*slow).asked, 12)
	})
	bubble.Test(t, func(t *testing.T) {
		tr, began := newSlow(time.Millisecond), time.Now()
		tr.wire.(*slow).owes = began.Add(time.Hour)
		require.ErrorContains(t, asks(tr), errLocked.Error(), "it follows a leader")
		assert.LessOrEqual(t, time.Since(began), tr.heartbeat, "the library asks anew")
	})
	bubble.Test(t, func(t *testing.T) {
		tr, began := newSlow(time.Millisecond), time.Now()
		tr.wire.(*slow).owes, tr.wire.(*slow).dozes = began.Add(tr.heartbeat/10), began.Add(tr.heartbeat/5)
		resp := &raft.RequestPreVoteResponse{}
		require.NoError(t, tr.RequestPreVote("b", "b", &raft.RequestPreVoteRequest{Term: 5}, resp))
		assert.True(t, resp.Granted, "it has noticed")
		assert.LessOrEqual(t, time.Since(began), tr.heartbeat/3)
	})
	bubble.Test(t, func(t *testing.T) {
		tr, began := newSlow(time.Millisecond), time.Now()
		tr.wire.(*slow).newer = 6
		require.NoError(t, asks(tr))
		assert.Equal(t, time.Millisecond, time.Since(began), "the library has to hear of the newer term")
	})
	bubble.Test(t, func(t *testing.T) {
		tr, began := newSlow(time.Millisecond), time.Now()
		tr.wire.(*slow).owes = began.Add(time.Hour)
		time.AfterFunc(tr.heartbeat/4, func() {
			assert.NoError(t, tr.screen(&raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ID: []byte("c")}, Term: 5}))
		})
		require.ErrorIs(t, asks(tr), errLocked, "this node follows a leader by now")
		assert.LessOrEqual(t, time.Since(began), tr.heartbeat/2)
	})
}
