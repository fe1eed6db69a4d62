package local

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
)

// node runs an elector, and keeps what it decides.
type node struct {
	*Elector
	decided []election.Decision
	refuse  atomic.Pointer[error]
	stop    func()
}

func begin(t *testing.T) *node { return beginWith(t, nil, false) }

func beginWith(t *testing.T, by Talk, stay bool) *node {
	t.Helper()
	n := &node{Elector: New(netip.Addr{}, 100, by, stay)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- n.Run(ctx, func(d election.Decision) error {
			n.decided = append(n.decided, d)
			if e := n.refuse.Load(); e != nil && d.Role == election.Serve {
				return *e
			}
			return nil
		})
	}()
	n.stop = func() {
		cancel()
		require.NoError(t, <-ended)
	}
	return n
}

func (n *node) roles() (out []election.Role) {
	for _, d := range n.decided {
		out = append(out, d.Role)
	}
	return out
}

var unfit = election.Fitness{Less: 255, Reason: "the health check fails: 500", Code: code.CheckFailed}

func TestElectorServesWhileFit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := begin(t)
		n.SetFitness(unfit)
		synctest.Wait()
		assert.Equal(t, election.Backup, n.Status().State)
		n.SetFitness(election.Fitness{Less: 40})
		synctest.Wait()
		assert.Equal(t, election.Active, n.Status().State, "a weight takes nobody out")
		assert.False(t, n.LeaseEnd().IsZero())
		n.SetFitness(unfit)
		synctest.Wait()
		assert.Equal(t, "the health check fails: 500", n.Status().Reason)
		assert.True(t, n.LeaseEnd().IsZero())
		n.stop()
		assert.Equal(t, []election.Role{election.Standby, election.Serve, election.Standby, election.Off}, n.roles())
		assert.Equal(t, code.CheckFailed, n.decided[2].Code)
	})
}

func TestElectorTellsANewReason(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := begin(t)
		n.SetFitness(unfit)
		synctest.Wait()
		other := unfit
		other.Reason = "the health check fails: connection refused"
		n.SetFitness(other)
		n.SetFitness(other)
		synctest.Wait()
		n.stop()
		assert.Len(t, n.decided, 3)
		assert.Equal(t, other.Reason, n.decided[1].Reason)
	})
}

func TestElectorTriesAgainWhatItCouldNotServe(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := begin(t)
		refused := errors.New("no nf_tables")
		n.refuse.Store(&refused)
		n.SetFitness(election.Fitness{})
		synctest.Wait()
		assert.Equal(t, election.Backup, n.Status().State)
		assert.Equal(t, "it cannot serve: no nf_tables", n.Status().Reason)
		n.refuse.Store(nil)
		time.Sleep(retryAfter)
		synctest.Wait()
		assert.Equal(t, election.Active, n.Status().State)
		n.stop()
	})
}

func TestHandoverHasNobody(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := begin(t)
		n.SetFitness(unfit)
		synctest.Wait()
		assert.ErrorIs(t, n.Handover(t.Context(), ""), election.ErrNotActive)
		n.SetFitness(election.Fitness{})
		synctest.Wait()
		assert.ErrorIs(t, n.Handover(t.Context(), ""), election.ErrNoTaker)
		assert.ErrorIs(t, n.Handover(t.Context(), "n2"), election.ErrNoTaker)
		n.stop()
	})
}

// TestHandoverOfADrainedNode waits until it has stopped serving.
func TestHandoverOfADrainedNode(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := begin(t)
		n.SetFitness(election.Fitness{})
		synctest.Wait()
		n.mu.Lock()
		n.fitness = election.Fitness{Less: 255, Reason: "drained by an operator", Code: code.Drained}
		n.mu.Unlock()
		done := make(chan error, 1)
		go func() { done <- n.Handover(t.Context(), "") }()
		synctest.Wait()
		assert.Empty(t, done)
		n.SetFitness(unfit)
		synctest.Wait()
		assert.ErrorIs(t, <-done, election.ErrNotActive)
		n.stop()
	})
}

// talk is a Talk whose members a test names.
type talk struct {
	Talk
	mu      sync.Mutex // guards what follows
	members []election.Member
	fitness election.Fitness
	said    *election.Spread
}

func (f *talk) SetSpread(s *election.Spread) { f.said = s }

func (f *talk) Run(ctx context.Context, _ func(election.Decision) error) error {
	<-ctx.Done()
	return nil
}

func (f *talk) SetFitness(fitness election.Fitness) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fitness = fitness
}

func (f *talk) Members() []election.Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members
}

// hear has one other member say that it is fit, or not.
func (f *talk) hear(fit bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n2 := election.Member{Node: "n2", Fit: new(false), NoCandidate: true, Unfit: "the health check fails", Code: code.CheckFailed}
	if fit { // what says so of a node that holds nothing
		n2.Unfit, n2.Code = election.NoCandidate, code.NoCandidate
	}
	f.members = []election.Member{{Self: true, Fit: new(false), NoCandidate: true, Code: code.NoCandidate}, n2}
}

// TestUnhealthyNodeStaysWhereNoneIsFit, and withdraws as soon as one is.
func TestUnhealthyNodeStaysWhereNoneIsFit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		others := &talk{}
		n := beginWith(t, others, true)
		look := func() (election.State, string) {
			time.Sleep(listenEvery)
			synctest.Wait()
			s := n.Status()
			return s.State, s.Reason
		}
		n.SetFitness(unfit)
		state, _ := look()
		assert.Equal(t, election.Backup, state, "before the first good check nothing is announced")
		n.SetFitness(election.Fitness{})
		state, _ = look()
		assert.Equal(t, election.Active, state)
		others.hear(true)
		n.SetFitness(unfit)
		assert.Equal(t, unfit, others.fitness, "the others are told")
		state, reason := look()
		assert.Equal(t, election.Backup, state)
		assert.Equal(t, unfit.Reason, reason)
		others.hear(false)
		state, reason = look()
		assert.Equal(t, election.Active, state, "nobody else is fit")
		assert.Equal(t, "the health check fails: 500, and no member is heard that is fit", reason)
		assert.Equal(t, code.StaysUnhealthy, n.decided[len(n.decided)-1].Code)
		others.hear(true)
		state, _ = look()
		assert.Equal(t, election.Backup, state)
		assert.Len(t, n.Status().Members, 2)
		assert.Equal(t, election.Active, n.Status().Members[1].State)
		n.stop()
	})
}

// TestOperatorsWordCountsMoreThanThatNoneIsFit of a node that is drained or held, and of one that cannot serve.
func TestOperatorsWordCountsMoreThanThatNoneIsFit(t *testing.T) {
	for _, f := range []election.Fitness{
		{Less: 255, Reason: "drained by an operator", Code: code.Drained},
		{Less: 255, Reason: "held by an operator", Code: code.Held},
		{Out: true, Less: 255, Reason: "blocked", Code: code.NoTranslation},
	} {
		bubble.Test(t, func(t *testing.T) {
			n := beginWith(t, &talk{}, true)
			n.SetFitness(election.Fitness{})
			synctest.Wait()
			n.SetFitness(f)
			time.Sleep(3 * listenEvery)
			synctest.Wait()
			assert.Equal(t, election.Backup, n.Status().State, f.Reason)
			n.stop()
		})
	}
}

// TestUnhealthyNodeWithdrawsThatOnlyTalks, whatever the others do: what it hears is for spreading alone.
func TestUnhealthyNodeWithdrawsThatOnlyTalks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		others := &talk{}
		n := beginWith(t, others, false)
		n.SetFitness(election.Fitness{})
		synctest.Wait()
		others.hear(false)
		n.SetFitness(unfit)
		time.Sleep(3 * listenEvery)
		synctest.Wait()
		assert.Equal(t, election.Backup, n.Status().State)
		said := &election.Spread{Weight: 3}
		n.SetSpread(said)
		assert.Same(t, said, others.said)
		list := n.Members()
		assert.Len(t, list, 2)
		assert.True(t, list[0].Self)
		assert.Equal(t, "n2", list[1].Node)
		n.stop()
	})
}

// TestNobodyIsToldWithoutTalk of how this node spreads.
func TestNobodyIsToldWithoutTalk(t *testing.T) {
	e := New(netip.Addr{}, 100, nil, false)
	e.SetSpread(&election.Spread{})
	assert.Nil(t, e.MembersChanged())
	assert.Len(t, e.Members(), 1)
}
