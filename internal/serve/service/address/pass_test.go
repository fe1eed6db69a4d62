package address

import (
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// quiet begins to pass the address on.
var quiet = election.Decision{Role: election.Quiet, Reason: "passed on"}

// fenced gives an instance a fence.
func fenced(kernel *fakeFence) func(*entry) {
	return func(in *entry) {
		in.Lease = 290 * time.Millisecond
		in.Fence = func(instance.Place, bool) (Fence, error) { return kernel, nil }
	}
}

// passing runs an instance with a fence up to the moment when it has begun to pass the addresses on.
func passing(t *testing.T, kernel *fakeFence, fn func(t *testing.T, b *bench, e *fakeElector)) {
	run(t, nil, fenced(kernel), func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		b.host.take()
		kernel.take()
		require.NoError(t, e.tell(quiet))
		fn(t, b, e)
	})
}

func TestPassKeepsTheAddressUntilTheNextNodeHasIt(t *testing.T) {
	kernel := &fakeFence{egress: true}
	passing(t, kernel, func(t *testing.T, b *bench, e *fakeElector) {
		assert.Equal(t, []string{"shut discovery"}, kernel.take())
		require.NoError(t, e.decide(election.Quiet, nodeB))
		b.HostChanged()
		time.Sleep(200 * time.Millisecond)
		assert.Empty(t, b.host.take(), "neither removed nor announced")
		require.NoError(t, e.tell(election.Decision{Role: election.Standby, Holder: nodeB}))
		synctest.Wait()
		assert.Equal(t, []string{"shut in", "shut out", "release"}, kernel.take())
		assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
		require.NoError(t, e.tell(election.Decision{Role: election.Standby, Holder: nodeB}))
		assert.Empty(t, b.host.take(), "again")
	})
}

// A holder that was late yields in the midst of a handover, and has heard nobody take the address.
func TestPassThatNobodyHasTakenNamesNobody(t *testing.T) {
	passing(t, &fakeFence{egress: true}, func(t *testing.T, b *bench, e *fakeElector) {
		require.NoError(t, e.tell(election.Decision{Role: election.Standby, Reason: "own advertisement late"}))
		synctest.Wait()
		assert.Contains(t, b.log.String(), `msg="address given up before another node was heard to have it"`)
		assert.NotContains(t, b.log.String(), "invalid IP")
	})
}

func TestPassTakenBackReopensBeforeItAnnounces(t *testing.T) {
	kernel := &fakeFence{egress: true}
	passing(t, kernel, func(t *testing.T, b *bench, e *fakeElector) {
		require.NoError(t, e.decide(election.Serve, nodeA))
		synctest.Wait()
		assert.Equal(t, []string{"shut discovery", "hold", "reopen"}, kernel.take())
		assert.Contains(t, b.host.take(), "announce 2")
	})
}

func TestGrantedAddressIsAnnouncedWhenItWorks(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.tell(election.Decision{Role: election.Serve, Granted: true}))
		assert.Equal(t, []string{"add 10.77.0.100/32 2", "add fd77::100/128 2", "usable", "announce 2"}, b.host.take())
	})
}

// A process that is killed while it takes the address must not leave it answering without a lease.
func TestGrantedAddressIsGuardedBeforeItIsBound(t *testing.T) {
	for name, tt := range map[string]struct {
		slow, want time.Duration
	}{"soon": {10 * time.Millisecond, 10 * time.Millisecond}, "too late to wait for": {time.Second, patience}} {
		t.Run(name, func(t *testing.T) {
			kernel := &fakeFence{egress: true}
			run(t, nil, fenced(kernel), func(t *testing.T, b *bench) {
				e := <-b.electors
				kernel.slow(tt.slow)
				began := time.Now()
				done := make(chan error, 1)
				go func() {
					done <- e.tell(election.Decision{Role: election.Serve, Granted: true})
				}()
				time.Sleep(tt.want - time.Millisecond)
				assert.Empty(t, b.host.take())
				require.NoError(t, <-done)
				assert.Equal(t, tt.want, time.Since(began))
				assert.Contains(t, b.host.take(), "add 10.77.0.100/32 2")
			})
		})
	}
}

func TestAddressThatCannotBeBoundLeavesNoGuard(t *testing.T) {
	kernel := &fakeFence{egress: true}
	run(t, nil, fenced(kernel), func(t *testing.T, b *bench) {
		e := <-b.electors
		b.host.set(func(h *fakeHost) { h.fail = errors.New("refused") })
		require.Error(t, e.decide(election.Serve, nodeA))
		synctest.Wait()
		assert.Equal(t, []string{"hold", "release"}, kernel.take())
	})
}

func TestPassEndsWithTheElection(t *testing.T) {
	kernel := &fakeFence{egress: true}
	passing(t, kernel, func(t *testing.T, b *bench, e *fakeElector) {
		require.NoError(t, e.decide(election.Off, netip.Addr{}))
		assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
	})
}

// What the kernel cannot shut in part goes as a whole, before another node may answer.
func TestPassWithoutAFenceReleasesAtOnce(t *testing.T) {
	for name, kernel := range map[string]*fakeFence{
		"the kernel refuses":             {egress: true, fail: errors.New("refused")},
		"there is no fence":              nil,
		"the lease is renewed by nobody": {egress: false},
	} {
		t.Run(name, func(t *testing.T) {
			perhaps := func(in *entry) {
				in.Lease = 20 * time.Millisecond
				if kernel != nil {
					in.Fence = func(instance.Place, bool) (Fence, error) { return kernel, nil }
				}
			}
			run(t, nil, perhaps, func(t *testing.T, b *bench) {
				e := <-b.electors
				require.NoError(t, e.decide(election.Serve, nodeA))
				b.host.take()
				require.NoError(t, e.tell(quiet))
				assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
			})
		})
	}
}

// A kernel that is only slow would let the grant come too late.
func TestPassWaitsForAnotherTimeWhenTheKernelIsSlow(t *testing.T) {
	kernel := &fakeFence{egress: true}
	run(t, nil, fenced(kernel), func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		time.Sleep(5 * time.Second)
		b.host.take()
		kernel.take()
		kernel.slow(80 * time.Millisecond)
		at := time.Now()
		require.ErrorIs(t, e.tell(quiet), errNotNow)
		assert.Less(t, time.Since(at), 50*time.Millisecond)
		time.Sleep(200 * time.Millisecond)
		assert.Equal(t, []string{"shut discovery", "reopen"}, kernel.take()[:2])
		assert.NotContains(t, b.host.take(), "del 10.77.0.100/32 2")
		kernel.slow(0)
		require.NoError(t, e.tell(quiet))
		assert.NotContains(t, b.host.take(), "del 10.77.0.100/32 2")
		assert.Contains(t, kernel.take(), "shut discovery")
	})
}

// Others ask again and again for an address whose holder has a kernel that is slow. Nothing of what the holder gives up may stay shut.
func TestPassThatIsGivenUpLeavesDiscoveryOpen(t *testing.T) {
	for name, c := range map[string]struct {
		busy bool // the kernel is, with what was asked before
		want []string
	}{
		"the kernel is at it":      {false, []string{"shut discovery", "reopen"}},
		"the kernel has not begun": {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := &fakeFence{egress: true}
			run(t, nil, fenced(kernel), func(t *testing.T, b *bench) {
				e := <-b.electors
				require.NoError(t, e.decide(election.Serve, nodeA))
				time.Sleep(5 * time.Second)
				kernel.take()
				kernel.slow(10 * time.Second)
				if c.busy {
					time.Sleep(5 * time.Second) // the guard is renewed
				}
				at := time.Now()
				for range 9 {
					require.ErrorIs(t, e.tell(quiet), errNotNow)
				}
				assert.Less(t, time.Since(at), 9*50*time.Millisecond)
				kernel.slow(0)
				time.Sleep(20 * time.Second)
				synctest.Wait()
				did := slices.DeleteFunc(kernel.take(), func(s string) bool { return s == "hold" })
				assert.ElementsMatch(t, c.want, did)
				assert.NotContains(t, b.host.take(), "del 10.77.0.100/32 2")

				require.NoError(t, e.tell(quiet), "the kernel follows again")
				assert.Contains(t, kernel.take(), "shut discovery")
			})
		})
	}
}

// Discovery is opened even if others take the fence away in that moment: it is built anew as it was, shut.
func TestPassTakenBackReopensAFenceThatWasTakenAway(t *testing.T) {
	kernel := &fakeFence{egress: true}
	passing(t, kernel, func(t *testing.T, b *bench, e *fakeElector) {
		kernel.set(func(f *fakeFence) { f.broken = errors.New("table gone") })
		require.NoError(t, e.decide(election.Serve, nodeA))
		synctest.Wait()
		assert.Equal(t, []string{"shut discovery", "hold", "mend", "renew", "reopen"}, kernel.take())
		assert.Contains(t, b.host.take(), "announce 2")
	})
}

// A kernel that does not answer for long is asked for little that repeats itself, and for everything else once it does.
func TestJobsThatAreAskedForOnceWait(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kernel := &fakeFence{egress: true}
		kernel.slow(time.Second)
		hour := time.Now().Add(time.Hour)
		f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: func() time.Time { return hour }, length: time.Second}, false)
		f.hold()
		synctest.Wait()
		for range 3 * maxJobs {
			f.holdOn()
		}
		f.release()
		f.hold()
		f.reopen(0)
		time.Sleep(time.Minute)
		synctest.Wait()
		did := kernel.take()
		assert.Len(t, did, 1+maxJobs+3)
		assert.Equal(t, []string{"release", "hold", "reopen"}, did[len(did)-3:])
		f.hold()
		f.release()
		f.close()
		assert.Equal(t, []string{"hold", "release", "close"}, kernel.take(), "what was asked for is done before the end")
	})
}

// A member asks again and again for the address of a holder whose kernel does not answer. The kernel has to be done with
// one question before the next.
func TestPassesDoNotAddUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kernel := &fakeFence{egress: true}
		kernel.slow(time.Minute)
		hour := time.Now().Add(time.Hour)
		f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: func() time.Time { return hour }, length: time.Second}, false)
		f.hold()
		synctest.Wait()
		for range 20 {
			done, err := f.shutDiscovery(10 * time.Millisecond)
			assert.False(t, done)
			assert.NoError(t, err)
		}
		assert.Equal(t, 1, f.jobs.waiting())
		time.Sleep(time.Hour)
		f.close()
	})
}
