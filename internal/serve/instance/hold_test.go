package instance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/state"
)

// disk is the store of a test, in a directory of its own.
type disk struct {
	*state.Store
	dir string
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{dir: filepath.Join(t.TempDir(), "state")}
	var err error
	d.Store, err = state.Open(d.dir)
	require.NoError(t, err)
	return d
}

// held is what a restart would find.
func (d *disk) held(t *testing.T) map[string]state.Hold {
	again, err := state.Open(d.dir)
	require.NoError(t, err)
	out := map[string]state.Hold{}
	for _, name := range []string{"apiserver", "ingress"} {
		h, held := again.Held(name)
		if had, now := d.Held(name); held {
			assert.Equal(t, h, had, name)
			out[name] = h
		} else {
			assert.False(t, now, name)
		}
	}
	return out
}

// breakDown has it take nothing from now on.
func (d *disk) breakDown() error {
	return errors.Join(os.RemoveAll(d.dir), os.WriteFile(d.dir, nil, 0o600))
}

const unwritable = "is --state-dir on a disk that can be written?"

// onHold runs an instance whose elector answers a Handover as the test says.
func onHold(t *testing.T, test func(b *bench, e *handingElector, d *disk)) {
	t.Helper()
	e := &handingElector{to: make(chan string, 10), answer: election.ErrNotActive}
	d := newDisk(t)
	synctestHanding(t, e, func(b *bench) {
		b.Keep(d.Store)
		test(b, e, d)
	})
}

func TestHoldKeepsTheNodeOutUntilResume(t *testing.T) {
	onHold(t, func(b *bench, e *handingElector, d *disk) {
		require.NoError(t, b.Hold(context.Background(), nil, "new kernel", false))
		synctest.Wait()
		assert.Equal(t, election.Fitness{Out: true, Less: lastPlace, Reason: "held by an operator: new kernel", Code: code.Held}, e.fitness())
		s := b.Status()[0]
		assert.Equal(t, Held, s.Desired)
		assert.Equal(t, ObservedHeld, s.Observed)
		assert.Equal(t, &state.Hold{Since: time.Now().UTC(), Reason: "new kernel"}, s.Held)
		require.NoError(t, b.Ready(), "it is as wanted")
		assert.Equal(t, d.held(t)["apiserver"], *s.Held)

		require.NoError(t, b.Drain(context.Background(), nil))
		require.NoError(t, b.Hold(context.Background(), nil, "again", false))
		synctest.Wait()
		assert.Equal(t, "new kernel", b.Status()[0].Held.Reason, "it is held already")
		b.Apply(Delta{Remove: []string{"apiserver"}, Add: []Config{b.instance(handing(e))}})
		synctest.Wait()
		assert.Equal(t, ObservedHeld, b.Status()[0].Observed, "also with a new election")

		require.NoError(t, b.Resume(nil))
		synctest.Wait()
		assert.Equal(t, election.Fitness{}, e.fitness())
		assert.Equal(t, Available, b.Status()[0].Desired)
		assert.Nil(t, b.Status()[0].Held)
		assert.Empty(t, d.held(t))
	})
}

func TestHoldOfAnEarlierRunLasts(t *testing.T) {
	e := &handingElector{to: make(chan string, 10)}
	synctestHanding(t, e, func(b *bench) {
		d := newDisk(t)
		keep, _, err := d.Prepare([]string{"apiserver"}, state.Hold{Reason: "new kernel"})
		require.NoError(t, err)
		require.NoError(t, keep())
		b.Keep(d.Store)
		b.Apply(Delta{Remove: []string{"apiserver"}})
		b.Apply(Delta{Add: []Config{b.instance(handing(e))}})
		synctest.Wait()
		assert.True(t, e.fitness().Out)
		assert.Equal(t, "held by an operator: new kernel", e.fitness().Reason)
	})
}

func TestHoldThatNobodyCouldTakeChangesNothing(t *testing.T) {
	onHold(t, func(b *bench, e *handingElector, d *disk) {
		e.answer = election.ErrNoTaker
		require.ErrorIs(t, b.Hold(context.Background(), nil, "", false), election.ErrNoTaker)
		synctest.Wait()
		assert.Equal(t, election.Fitness{}, e.fitness())
		assert.Empty(t, d.held(t))
		require.NoError(t, b.Hold(context.Background(), nil, "", true), "by force")
		synctest.Wait()
		assert.True(t, e.fitness().Out)
		assert.Contains(t, d.held(t), "apiserver")
	})
}

func TestDrainThatFailsRemains(t *testing.T) {
	for _, failure := range []error{election.ErrNoTaker, election.ErrTimeout} {
		onHold(t, func(b *bench, e *handingElector, _ *disk) {
			e.answer = failure
			require.ErrorIs(t, b.Drain(context.Background(), nil), failure)
			synctest.Wait()
			assert.Equal(t, Drained, b.Status()[0].Desired, failure)
			assert.NotZero(t, e.fitness().Less, "the address goes as soon as another node is fit")
		})
	}
}

func TestHoldEndsWithTheNameOfTheEntry(t *testing.T) {
	onHold(t, func(b *bench, e *handingElector, _ *disk) {
		require.NoError(t, b.Hold(context.Background(), nil, "new kernel", false))
		renamed := b.instance(handing(e))
		renamed.VIP.Name = "ingress"
		b.Apply(Delta{Remove: []string{"apiserver"}, Add: []Config{renamed}})
		synctest.Wait()
		assert.Equal(t, Available, b.Status()[0].Desired)
	})
}

func TestHoldThatCannotBeKeptChangesNothing(t *testing.T) {
	onHold(t, func(b *bench, e *handingElector, d *disk) {
		require.NoError(t, d.breakDown())
		require.ErrorContains(t, b.Hold(context.Background(), nil, "", false), unwritable)
		synctest.Wait()
		assert.Equal(t, election.Fitness{}, e.fitness())
		assert.Empty(t, e.to, "the address was not passed on")
	})
}

func TestObserved(t *testing.T) {
	elector := newFakeElector()
	held, drained := desiredState{Desired: Held}, desiredState{Desired: Drained}
	free := desiredState{Desired: Available}
	for name, tt := range map[string]struct {
		give     view
		eligible bool
		want     Observed
	}{
		"the holder":                          {view{elector: elector, state: election.Active, desired: free}, true, ObservedActive},
		"an unhealthy holder":                 {view{elector: elector, state: election.Active, desired: free}, false, ObservedActive},
		"the holder is drained":               {view{elector: elector, state: election.Active, desired: drained}, false, ObservedDraining},
		"the address is on its way":           {view{elector: elector, state: election.Backup, desired: free, role: election.Quiet}, true, ObservedDraining},
		"a fit Backup":                        {view{elector: elector, state: election.Backup, desired: free}, true, ObservedStandby},
		"an unhealthy Backup":                 {view{elector: elector, state: election.Backup, desired: free}, false, ObservedIneligible},
		"a drained Backup":                    {view{elector: elector, state: election.Backup, desired: drained}, false, ObservedIneligible},
		"held":                                {view{elector: elector, desired: held}, false, ObservedHeld},
		"no interface":                        {view{desired: free}, false, ObservedFault},
		"no interface, and it is wanted none": {view{desired: held}, false, ObservedHeld},
		"ended":                               {view{desired: free, removed: true}, false, ObservedRemoved},
	} {
		tt.give.cfg = &Config{}
		assert.Equal(t, tt.want, tt.give.observed(&Status{Eligible: tt.eligible}, tt.give.role == election.Quiet), name)
	}
	backup := view{cfg: &Config{}, elector: elector, state: election.Backup, desired: free}
	assert.Equal(t, ObservedFault, backup.observed(&Status{Eligible: true, Blocked: "no quorum"}, false), "no node can take the address")
	backup.desired = held
	assert.Equal(t, ObservedHeld, backup.observed(&Status{Eligible: true, Blocked: "no quorum"}, false), "no node can take the address, but this one is not to")
}

// Connections that are spread go on at any node, and are not reset when the time is over.
func TestDrainWaitSaysThatConnectionsGoOn(t *testing.T) {
	e := &handingElector{to: make(chan string, 10), answer: election.ErrNotActive}
	synctestHanding(t, e, func(b *bench) {
		service := <-b.services
		service.set(func(s *fakeService) { s.draining = true })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := b.DrainWait(ctx, nil)
		require.ErrorIs(t, err, election.ErrTimeout)
		assert.EqualError(t, err, "apiserver: there are still connections, which go on")
		assert.True(t, service.until.IsZero(), "the other members hear no more that it drains")
	})
}

func TestDrainWaitOfABackupDrainsNothing(t *testing.T) {
	e := &handingElector{to: make(chan string, 10), answer: election.ErrNotActive}
	synctestHanding(t, e, func(b *bench) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, b.DrainWait(ctx, nil))
		s := <-b.services
		assert.True(t, s.until.IsZero())
		assert.Equal(t, Drained, b.Status()[0].Desired)
		assert.ErrorIs(t, b.DrainWait(context.Background(), nil), errNoDeadline)
	})
}

// A node that is held keeps the connections that are spread to it, and can be waited for, too.
func TestDrainWaitOfAHeldNodeWaitsForItsConnections(t *testing.T) {
	onHold(t, func(b *bench, _ *handingElector, _ *disk) {
		require.NoError(t, b.Hold(context.Background(), nil, "", false))
		service := <-b.services
		var asked time.Time
		service.set(func(s *fakeService) { s.draining = true })
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- b.DrainWait(ctx, nil) }()
		time.Sleep(time.Second)
		service.set(func(s *fakeService) { asked, s.draining = s.until, false })
		require.NoError(t, <-done)
		assert.False(t, asked.IsZero(), "the service counts connections when it is asked to")
		assert.True(t, service.until.IsZero())
		assert.Equal(t, Held, b.Status()[0].Desired, "it stays out")
	})
}
