package local

import (
	"context"
	"errors"
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

func begin(t *testing.T) *node {
	t.Helper()
	n := &node{Elector: New(Config{Priority: 100})}
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
