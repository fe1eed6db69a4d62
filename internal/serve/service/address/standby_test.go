package address

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// standing is a kernel that can keep a guard in place on a Backup.
func standing(egress bool) *fakeFence { return &fakeFence{egress: egress, standby: 4 * time.Second} }

func TestBackupKeepsAGuardInPlace(t *testing.T) {
	kernel := standing(true)
	run(t, nil, fenced(kernel), func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, nodeB))
		time.Sleep(time.Minute)
		synctest.Wait()
		did := kernel.take()
		for _, step := range did {
			assert.Equal(t, "standby", step)
		}
		assert.InDelta(t, 24, len(did), 2, "as seldom as it can")
		require.NoError(t, e.decide(election.Serve, nodeA))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.NotContains(t, kernel.take(), "standby", "a holder has the other guard")
		require.NoError(t, e.decide(election.Standby, nodeB))
		synctest.Wait()
		assert.Equal(t, []string{"shut in", "shut out", "standby"}, kernel.take(), "in exchange for that of the holder")
		assert.True(t, b.Status()[0].Fence.Standing)
	})
}

// Instances meet at times of a clock that may be set back. The kernel ends the guard by another one.
func TestGuardOfABackupIsDueByTheClockThatNobodySets(t *testing.T) {
	began := time.Now()
	s := &fenceState{standing: true, armed: began, good: began.Add(time.Minute)}
	due, ok := s.standbyDue()
	require.True(t, ok)
	assert.Zero(t, due.UnixNano()%int64(standbyMeet))
	assert.WithinRange(t, due, began.Add(time.Minute-standbyReserve-standbyMeet), began.Add(time.Minute-standbyReserve))
	assert.Contains(t, due.String(), " m=+", "it has both readings")
}

// The lease is not over yet, and the last advertisements of a node that yields renew it.
func TestAddressThatCannotBeRemovedStaysShut(t *testing.T) {
	stuck := func(t *testing.T, kernel *fakeFence, fn func(b *bench, e *fakeElector)) {
		run(t, nil, fenced(kernel), func(t *testing.T, b *bench) {
			e := <-b.electors
			require.NoError(t, e.decide(election.Serve, nodeA))
			time.Sleep(5 * time.Second)
			b.host.set(func(h *fakeHost) { h.stays = errors.New("refused") })
			synctest.Wait()
			kernel.take()
			require.Error(t, e.decide(election.Standby, nodeB))
			time.Sleep(5 * time.Second)
			synctest.Wait()
			assert.Equal(t, []string{"shut in", "shut out", "shut in", "shut out"}, kernel.take(), "nothing opens it")
			fn(b, e)
		})
	}
	for name, kernel := range map[string]*fakeFence{"on standby": standing(true), "no standby": {egress: true}} {
		opened := "release"
		if kernel.standby > 0 {
			opened = "standby"
		}
		t.Run(name+", until its lifetime is over", func(t *testing.T) {
			stuck(t, kernel, func(b *bench, _ *fakeElector) {
				b.host.set(func(h *fakeHost) { h.bound = nil })
				b.HostChanged()
				synctest.Wait()
				assert.Equal(t, []string{opened}, kernel.take())
			})
		})
		t.Run(name+", until the node takes over again", func(t *testing.T) {
			stuck(t, kernel, func(_ *bench, e *fakeElector) {
				require.NoError(t, e.decide(election.Serve, nodeA))
				synctest.Wait()
				assert.Equal(t, []string{opened, "hold"}, kernel.take())
			})
		})
	}
}

func TestTakeoverBindsUnderAGuard(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kernel *fakeFence
		slow   time.Duration
		waits  time.Duration
		late   bool // the guard comes after the bind
	}{
		{name: "on standby, a quick kernel", kernel: standing(true)},
		{name: "on standby, a slow kernel", kernel: standing(true), slow: 2 * time.Second},
		{name: "no standby, a quick kernel", kernel: &fakeFence{egress: true}, slow: 5 * time.Millisecond, waits: 5 * time.Millisecond},
		{name: "no standby, a slow kernel", kernel: &fakeFence{egress: true}, slow: 2 * time.Second, waits: patience, late: true},
		{name: "on standby, the lease by transaction", kernel: standing(false), slow: 5 * time.Millisecond, waits: 5 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, nil, fenced(tt.kernel), func(t *testing.T, b *bench) {
				e := <-b.electors
				require.NoError(t, e.decide(election.Standby, nodeB))
				synctest.Wait()
				tt.kernel.take()
				tt.kernel.slow(tt.slow)
				began := time.Now()
				require.NoError(t, e.decide(election.Serve, nodeA))
				assert.Equal(t, tt.waits, time.Since(began))
				assert.Equal(t, !tt.late, tt.kernel.guarded())
				assert.Contains(t, b.host.take(), "add 10.77.0.100/32 2")
				if tt.late {
					assert.Equal(t, instance.FenceStatus{Reason: errSlow.Error(), Code: code.FenceLost}, b.Status()[0].Fence)
				}
				if !tt.kernel.egress {
					assert.Equal(t, []string{"renew", "hold"}, tt.kernel.take(), "a guard without a lease would silence the announcement")
				}
				time.Sleep(3 * time.Second)
				assert.True(t, b.Status()[0].Fence.Standing)
			})
		})
	}
}

// A node that stood still has no guard any more, and waits for one.
func TestTakeoverWaitsWhereTheGuardIsOver(t *testing.T) {
	f := &fenceState{standing: true, good: time.Now().Add(-time.Millisecond)}
	assert.False(t, f.guardedNow())
	f.good = time.Now().Add(time.Minute)
	assert.True(t, f.guardedNow())
}

// Where the kernel does not follow with the lease of a new holder, the guard of a node on standby must not silence it.
func TestTakeoverOpensTheGuardWithoutALease(t *testing.T) {
	kernel := standing(false)
	kernel.fail = assert.AnError
	run(t, nil, fenced(kernel), func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, nodeB))
		synctest.Wait()
		require.True(t, kernel.guarded())
		require.NoError(t, e.decide(election.Serve, nodeA))
		synctest.Wait()
		assert.False(t, kernel.guarded())
		assert.Contains(t, b.Status()[0].Fence.Reason, errNoLease.Error())
	})
}
