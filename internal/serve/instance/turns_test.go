package instance

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
)

// slowElector takes a while to pass the address on, and does not always succeed.
type slowElector struct {
	*fakeElector
	mu   sync.Mutex // guards rand
	rand *rand.Rand
}

func (e *slowElector) Handover(ctx context.Context, _ string) error {
	e.mu.Lock()
	took := time.Duration(e.rand.IntN(5000)) * time.Millisecond
	err := []error{nil, election.ErrNoTaker, election.ErrNotActive}[e.rand.IntN(3)]
	e.mu.Unlock()
	select {
	case <-time.After(took):
		return err
	case <-ctx.Done():
		return election.ErrTimeout
	}
}

func slow(name string, seed uint64) func(*Config) {
	return func(in *Config) {
		in.VIP.Name = name
		partsOf(in).elect = func(Place) (election.Elector, func(), error) {
			return &slowElector{fakeElector: newFakeElector(), rand: rand.New(rand.NewPCG(seed, 7))}, func() {}, nil
		}
	}
}

// Whatever commands and reloads come at the same time: when all have ended this process wants what the next one will.
func TestCommandsLeaveMemoryAndStoreAlike(t *testing.T) {
	for seed := range uint64(30) {
		run(t, nil, slow("apiserver", seed), func(t *testing.T, b *bench) {
			d := newDisk(t)
			b.Keep(d.Store)
			b.Apply(Delta{Add: []Config{b.instance(slow("ingress", seed+1))}})
			var wg sync.WaitGroup
			for worker := range uint64(5) {
				wg.Go(func() { commands(t, b, rand.New(rand.NewPCG(seed, worker))) })
			}
			wg.Wait()
			synctest.Wait()
			for _, s := range b.Status() {
				h, held := d.Held(s.Name)
				require.Equal(t, held, s.Desired == Held, "seed %d, %s", seed, s.Name)
				if held {
					require.Equal(t, &h, s.Held, "seed %d, %s", seed, s.Name)
				}
			}
			require.NoError(t, b.Resume(nil))
			assert.Empty(t, d.held(t))
		})
	}
}

// commands says random things to a set.
func commands(t *testing.T, b *bench, r *rand.Rand) {
	for range 12 {
		time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
		names := [][]string{nil, {"apiserver"}, {"ingress"}}[r.IntN(3)]
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		switch r.IntN(7) {
		case 0, 1:
			_ = b.Hold(ctx, names, "by one", r.IntN(2) == 0)
		case 2:
			_ = b.Resume(names)
		case 3:
			_ = b.Drain(ctx, names)
		case 4:
			_ = b.DrainWait(ctx, names)
		case 5:
			_ = b.Handover(ctx, names, "")
		default:
			b.Apply(Delta{Remove: []string{"apiserver"}, Add: []Config{b.instance(slow("apiserver", r.Uint64()))}})
		}
		cancel()
	}
}

func TestLaterCommandEndsOneThatWaits(t *testing.T) {
	run(t, nil, func(in *Config) {
		partsOf(in).elect = func(Place) (election.Elector, func(), error) { return stuckElector{newFakeElector()}, func() {}, nil }
	}, func(t *testing.T, b *bench) {
		d := newDisk(t)
		b.Keep(d.Store)
		ended := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for name, later := range map[string]func() error{
			"resume": func() error { return b.Resume([]string{"apiserver"}) },
			"reload": func() error {
				b.Apply(Delta{Remove: []string{"apiserver"}, Add: []Config{b.instance(nil)}})
				return nil
			},
		} {
			go func() { ended <- b.Hold(ctx, nil, "new kernel", true) }()
			synctest.Wait()
			began := time.Now()
			require.NoError(t, later(), name)
			require.ErrorIs(t, <-ended, errSuperseded, name)
			assert.Zero(t, time.Since(began), name)
			assert.Equal(t, Available, b.Status()[0].Desired, name)
			assert.Empty(t, d.held(t), name)
			if name == "resume" {
				continue
			}
			b.Apply(Delta{Remove: []string{"apiserver"}})
			b.Apply(Delta{Add: []Config{b.instance(func(in *Config) {
				partsOf(in).elect = func(Place) (election.Elector, func(), error) { return stuckElector{newFakeElector()}, func() {}, nil }
			})}})
			synctest.Wait()
		}
	})
}

// An operator who presses Ctrl-C while the address is passed on does not force the hold.
func TestHoldByForceThatIsAbandonedChangesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		end  time.Duration // of the command
		want Desired
	}{
		"it is taken back": {time.Hour, Available},
		"its time is over": {time.Minute, Held},
	} {
		run(t, nil, func(in *Config) {
			partsOf(in).elect = func(Place) (election.Elector, func(), error) { return stuckElector{newFakeElector()}, func() {}, nil }
		}, func(t *testing.T, b *bench) {
			d := newDisk(t)
			b.Keep(d.Store)
			ctx, cancel := context.WithTimeout(t.Context(), tt.end)
			defer cancel()
			time.AfterFunc(2*time.Minute, cancel)
			err := b.Hold(ctx, nil, "new kernel", true)
			assert.Equal(t, tt.want == Available, err != nil, name)
			assert.Equal(t, tt.want, b.Status()[0].Desired, name)
			_, held := d.Held("apiserver")
			assert.Equal(t, tt.want == Held, held, name)
		})
	}
}

// stuckElector never passes the address on.
type stuckElector struct{ *fakeElector }

func (stuckElector) Handover(ctx context.Context, _ string) error {
	<-ctx.Done()
	return election.ErrTimeout
}

// What cannot be kept is as it was, also when that shows only after the address has been passed on.
func TestHoldThatCannotBeKeptInTheEnd(t *testing.T) {
	onHold(t, func(b *bench, e *handingElector, d *disk) {
		e.handing = func() { assert.NoError(t, d.breakDown()) }
		require.ErrorContains(t, b.Hold(context.Background(), nil, "", true), unwritable)
		synctest.Wait()
		assert.Equal(t, election.Fitness{}, e.fitness())
		_, held := d.Held("apiserver")
		assert.False(t, held)
	})
}

func TestTurnsOfOtherInstancesDoNotWait(t *testing.T) {
	var q turns
	_, first, err := q.take(t.Context(), []string{"a"})
	require.NoError(t, err)
	ctx, second, err := q.take(t.Context(), []string{"b", "c"})
	require.NoError(t, err)
	require.NoError(t, ctx.Err())
	first()
	second()
	assert.Empty(t, q.queue)
}
