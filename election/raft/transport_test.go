package raft

import (
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slow is a wire on which calls take their time.
type slow struct {
	*raft.InmemTransport
	takes time.Duration
	term  uint64 // of the answer
}

func (s *slow) AppendEntries(_ raft.ServerID, _ raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	time.Sleep(s.takes)
	*resp = raft.AppendEntriesResponse{Term: args.Term, Success: s.term == 0 || s.term == args.Term}
	return nil
}

func newSlow(takes time.Duration) *transport {
	_, inmem := raft.NewInmemTransport("a")
	t := newTransport(&slow{InmemTransport: inmem, takes: takes}, "a", addr(0), 500*time.Millisecond)
	t.acked, t.again, t.voice, t.reluctance = func() {}, func() {}, func() bool { return true }, func() time.Duration { return 0 }
	t.listed = func(raft.ServerID) bool { return false }
	return t
}

func TestTransportLeaseBeginsWithTheCallNotItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

func TestTransportSpacesHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newSlow(0)
		every := beat(500 * time.Millisecond)
		began := time.Now()
		for range 5 {
			require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
		}
		assert.Equal(t, 4*every, time.Since(began))
		assert.Equal(t, time.Now(), tr.since(4, []raft.ServerID{"a", "b", "c"}))
		began = time.Now()
		require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 1}, &raft.AppendEntriesResponse{}))
		require.NoError(t, tr.AppendEntries("c", "c", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
		assert.Zero(t, time.Since(began), "entries, and another member")
		time.Sleep(every / 3)
		var left [2]time.Duration
		var calls sync.WaitGroup
		for i, id := range []raft.ServerID{"b", "c"} {
			calls.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				assert.NoError(t, tr.AppendEntries(id, raft.ServerAddress(id), &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
				left[i] = time.Since(began)
			})
		}
		calls.Wait()
		assert.Equal(t, [2]time.Duration{every, every}, left, "to all at the same moment")
	})
}

// Where packets are lost every heartbeat counts.
func TestTransportDoesNotSpaceHeartbeatsOnARoughLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newSlow(60 * time.Millisecond)
		beats := func(n int) time.Duration {
			began := time.Now()
			for range n {
				require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
			}
			return time.Since(began)
		}
		assert.Equal(t, 300*time.Millisecond, beats(5))
		tr.wire.(*slow).takes = 0
		assert.Zero(t, beats(5))
		time.Sleep(roughFor * 500 * time.Millisecond)
		beats(2)
		assert.Equal(t, beat(500*time.Millisecond), beats(1), "spaced again")
	})
}

// A call that says what the member knows already is no reason to wake up.
func TestTransportRepeatsWithTheHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newSlow(0)
		every := beat(500 * time.Millisecond)
		call := func(args raft.AppendEntriesRequest) time.Duration {
			began := time.Now()
			require.NoError(t, tr.AppendEntries("b", "b", &args, &raft.AppendEntriesResponse{}))
			return time.Since(began)
		}
		time.Sleep(every / 4)
		known := raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 7, PrevLogTerm: 3, LeaderCommitIndex: 7}
		assert.Zero(t, call(known), "not known yet")
		assert.Equal(t, every*3/4, call(known))
		time.Sleep(every / 4)
		for _, news := range []raft.AppendEntriesRequest{
			{Term: 5, PrevLogEntry: 7, PrevLogTerm: 3, LeaderCommitIndex: 7},
			{Term: 5, PrevLogEntry: 8, PrevLogTerm: 3, LeaderCommitIndex: 7},
			{Term: 5, PrevLogEntry: 8, PrevLogTerm: 5, LeaderCommitIndex: 7},
			{Term: 5, PrevLogEntry: 8, PrevLogTerm: 5, LeaderCommitIndex: 8},
		} {
			assert.Zero(t, call(news))
			withEntry := news
			withEntry.Entries = []*raft.Log{{Index: 9}}
			assert.Zero(t, call(withEntry), "an entry")
			require.NoError(t, tr.AppendEntries("c", "c", &news, &raft.AppendEntriesResponse{}))
			tr.mu.Lock()
			assert.Equal(t, positionOf(&news), tr.known["b"])
			tr.mu.Unlock()
		}
		tr.roughen("b")
		assert.Zero(t, call(raft.AppendEntriesRequest{Term: 5, PrevLogEntry: 8, PrevLogTerm: 5, LeaderCommitIndex: 8}), "on a rough line")
	})
}

// Who has refused a call is to hear it again at once.
func TestTransportKnowsOnlyWhatWasAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newSlow(0)
		tr.wire.(*slow).term = 5
		began := time.Now()
		for range 3 {
			require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 7}, &raft.AppendEntriesResponse{}))
		}
		assert.Zero(t, time.Since(began))
	})
}

// The next heartbeats are asked for while these are under way, but only where they are going to wait.
func TestTransportAsksForTheNextHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, asked := newSlow(0), 0
		tr.again = func() { asked++ }
		for range 3 {
			require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
		}
		require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 1}, &raft.AppendEntriesResponse{}))
		assert.Equal(t, 3, asked)
		tr.roughen("b")
		require.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}))
		assert.Equal(t, 3, asked)
	})
}

func TestStreamDeadlinesAreAtHeartbeats(t *testing.T) {
	s := newStream(dialer{}, 500*time.Millisecond, nil)
	for after, want := range map[time.Duration]time.Duration{0: 0, 1: 100, 99: 100, 100: 100, 101: 200, 501: 600} {
		assert.Equal(t, s.began.Add(want*time.Millisecond), s.next(s.began.Add(after*time.Millisecond)))
	}
}

func TestTransportMutedTermIsSilent(t *testing.T) {
	tr := newSlow(0)
	tr.mute(4)
	assert.ErrorIs(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{}), errMuted)
	assert.NoError(t, tr.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 5}, &raft.AppendEntriesResponse{}))
}

// The library lets a request to stand, and the votes that follow from it, pass whatever leader there is by now.
func TestTransportTransferNeedsTheWordOfTheLeaderFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
