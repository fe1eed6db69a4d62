package address

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// refenced gives an instance a fence that follows it.
func refenced(kernel *fakeFence) func(*entry) {
	return func(in *entry) {
		fenced(kernel)(in)
		in.Paced = 450 * time.Millisecond
		in.Refence = func(_ Fence, _ instance.Place, lease time.Duration) error {
			if err := kernel.try(); err != nil {
				return err
			}
			return kernel.note("change to "+lease.String(), func() {})
		}
	}
}

// holder runs an instance that holds the address, behind a fence.
func holder(t *testing.T, kernel *fakeFence, test func(t *testing.T, b *bench, e *fakeElector)) {
	t.Helper()
	run(t, nil, refenced(kernel), func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		synctest.Wait()
		kernel.take()
		test(t, b, e)
	})
}

// Where the kernel takes no fence for a while, only the lifetime of the address would end it.
func TestAddressWhoseFenceIsGoneLivesShorter(t *testing.T) {
	kernel := &fakeFence{egress: true, told: true}
	holder(t, kernel, func(t *testing.T, b *bench, _ *fakeElector) {
		valid := func() time.Duration {
			b.host.mu.Lock()
			defer b.host.mu.Unlock()
			return b.host.valid
		}
		kernel.gone() // and there again
		time.Sleep(2 * unfencedGrace)
		synctest.Wait()
		assert.Equal(t, validLeast, valid())

		kernel.set(func(f *fakeFence) { f.broken, f.refused = errors.New("flushed"), true })
		kernel.gone()
		time.Sleep(unfencedGrace)
		synctest.Wait()
		assert.Equal(t, time.Second, valid())
		b.host.take()
		time.Sleep(time.Second)
		synctest.Wait()
		assert.GreaterOrEqual(t, len(b.host.take()), perUnfenced-1, "renewed in time")
		kernel.set(func(f *fakeFence) { f.refused = false })
		time.Sleep(checkEvery + time.Second)
		synctest.Wait()
		assert.Equal(t, validLeast, valid(), "the fence is there again")
	})
}

func TestReloadOfAHolderKeepsItsGuard(t *testing.T) {
	more := []netip.Prefix{vip4, netip.MustParsePrefix("10.77.0.101/32")}
	for name, tt := range map[string]struct {
		change func(*entry)
		want   []string // at once
		later  []string // when the others have heard of the longer interval
	}{
		"nothing":       {func(*entry) {}, nil, nil},
		"addresses":     {func(in *entry) { in.Addresses = more }, []string{"change to 290ms", "hold"}, nil},
		"shorter lease": {func(in *entry) { in.Lease = 140 * time.Millisecond }, []string{"change to 140ms", "hold"}, nil},
		"longer lease":  {func(in *entry) { in.Lease = time.Second }, nil, []string{"change to 1s", "hold"}},
		"longer lease and addresses": {
			func(in *entry) { in.Lease, in.Addresses = time.Second, more },
			[]string{"change to 290ms", "hold"},
			[]string{"change to 1s", "hold"},
		},
		"many more addresses in this process": {func(in *entry) { in.Crowd = 200 }, []string{"change to 290ms", "hold"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := &fakeFence{egress: true}
			holder(t, kernel, func(t *testing.T, b *bench, _ *fakeElector) {
				b.Apply(instance.Delta{Adjust: []instance.Config{b.instance(func(in *entry) { refenced(kernel)(in); tt.change(in) })}})
				synctest.Wait()
				assert.Equal(t, tt.want, kernel.take())
				assert.True(t, kernel.guarded())
				assert.True(t, b.Status()[0].Fence.Standing)
				time.Sleep(450 * time.Millisecond)
				synctest.Wait()
				assert.Equal(t, tt.later, kernel.take())
				assert.True(t, kernel.guarded())
			})
		})
	}
}

// The fence shortens before the first advertisement tells the others to wait less.
func TestReloadShortensTheLeaseBeforeTheInterval(t *testing.T) {
	kernel := &fakeFence{egress: true}
	holder(t, kernel, func(t *testing.T, b *bench, _ *fakeElector) {
		var before []string
		b.Apply(instance.Delta{Adjust: []instance.Config{b.instance(func(in *entry) {
			refenced(kernel)(in)
			in.Lease = 140 * time.Millisecond
			in.Adjust = func(election.Elector, instance.Place) { before = kernel.take() }
		})}})
		synctest.Wait()
		assert.Contains(t, before, "change to 140ms")
	})
}

func TestReloadOfANodeThatIsQuietKeepsDiscoveryShut(t *testing.T) {
	kernel := &fakeFence{egress: true}
	holder(t, kernel, func(t *testing.T, b *bench, e *fakeElector) {
		require.NoError(t, e.tell(quiet))
		kernel.take()
		b.host.take()
		b.Apply(instance.Delta{Adjust: []instance.Config{b.instance(func(in *entry) {
			refenced(kernel)(in)
			in.Addresses = []netip.Prefix{vip4}
		})}})
		synctest.Wait()
		assert.Equal(t, []string{"change to 290ms"}, kernel.take(), "neither closed nor opened")
		assert.Equal(t, []string{"del fd77::100/128 2"}, b.host.take(), "not announced")
		assert.True(t, b.Status()[0].Observed == instance.ObservedDraining)
	})
}

// The kernel may take longer than the service waits, which goes on meanwhile.
func TestFenceChangesForThePlaceOfTheMomentItWasAskedIn(t *testing.T) {
	kernel := &fakeFence{egress: true}
	holder(t, kernel, func(t *testing.T, b *bench, _ *fakeElector) {
		var asked []string // MACs
		kernel.slow(time.Minute)
		time.Sleep(5 * time.Second) // the guard is renewed
		change := b.instance(func(in *entry) {
			refenced(kernel)(in)
			in.Addresses = []netip.Prefix{vip4}
			in.Refence = func(_ Fence, p instance.Place, _ time.Duration) error {
				return kernel.note("change", func() { asked = append(asked, p.MAC) })
			}
		})
		b.Apply(instance.Delta{Adjust: []instance.Config{change}})
		time.Sleep(exchangeTime + 2*statusPatience) // whoever looks at the status waits, too
		synctest.Wait()
		b.host.set(func(h *fakeHost) { h.place.MAC = "02:00:00:00:00:02" })
		b.HostChanged()
		time.Sleep(maxJobs * time.Minute)
		synctest.Wait()
		kernel.set(func(*fakeFence) {
			require.NotEmpty(t, asked)
			assert.Empty(t, asked[0], "before the MAC was known")
		})
		kernel.slow(0)
	})
}

// What the kernel has refused is tried again, and until then status says that it is not in place.
func TestFenceThatWasRefusedIsTriedAgain(t *testing.T) {
	t.Run("by a change", func(t *testing.T) {
		kernel := &fakeFence{egress: true, refuse: errors.New("no memory")}
		holder(t, kernel, func(t *testing.T, b *bench, _ *fakeElector) {
			b.Apply(instance.Delta{Adjust: []instance.Config{b.instance(func(in *entry) {
				refenced(kernel)(in)
				in.Addresses = []netip.Prefix{vip4}
			})}})
			time.Sleep(checkEvery)
			synctest.Wait()
			assert.Equal(t, instance.FenceStatus{Reason: "no memory", Code: code.FenceLost}, b.Status()[0].Fence)
			assert.True(t, kernel.guarded(), "the one before")
			kernel.set(func(f *fakeFence) { f.refuse = nil })
			time.Sleep(fenceAgain)
			synctest.Wait()
			assert.Equal(t, instance.FenceStatus{Standing: true}, b.Status()[0].Fence)
			assert.Contains(t, kernel.take(), "change to 290ms")
		})
	})
	t.Run("by a change that is taken back", func(t *testing.T) {
		kernel := &fakeFence{egress: true, refuse: errors.New("in another group already")}
		holder(t, kernel, func(t *testing.T, b *bench, _ *fakeElector) {
			b.Apply(instance.Delta{Adjust: []instance.Config{b.instance(func(in *entry) {
				refenced(kernel)(in)
				in.Addresses = []netip.Prefix{vip4}
			})}})
			synctest.Wait()
			kernel.set(func(f *fakeFence) { f.refuse = nil })
			b.Apply(instance.Delta{Adjust: []instance.Config{b.instance(refenced(kernel))}})
			synctest.Wait()
			assert.Contains(t, kernel.take(), "change to 290ms", "the one that was refused may be made yet")
			assert.Equal(t, instance.FenceStatus{Standing: true}, b.Status()[0].Fence)
		})
	})
	t.Run("at the start of a term", func(t *testing.T) {
		kernel := &fakeFence{egress: true, refuse: errors.New("no memory")}
		run(t, nil, func(in *entry) {
			fenced(kernel)(in)
			in.Fence = func(instance.Place, bool) (Fence, error) { return kernel, kernel.try() }
		}, func(t *testing.T, b *bench) {
			e := <-b.electors
			require.NoError(t, e.decide(election.Serve, nodeA))
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			kernel.set(func(f *fakeFence) { assert.Equal(t, 15, f.tries, "once a minute in the end") })
			assert.Contains(t, b.Status()[0].Fence.Reason, "no memory")
			kernel.set(func(f *fakeFence) { f.refuse = nil })
			time.Sleep(fenceAgainMost)
			synctest.Wait()
			assert.Equal(t, []string{"renew", "hold"}, kernel.take()[:2], "the address does not fall silent before the next advertisement")
			assert.True(t, b.Status()[0].Fence.Standing)
		})
	})
}

// A guard that was refused is missing, whatever else of the fence is in place.
func TestStatusOfAFenceWithoutItsGuard(t *testing.T) {
	kernel := &fakeFence{egress: true}
	holder(t, kernel, func(t *testing.T, b *bench, _ *fakeElector) {
		require.True(t, b.Status()[0].Fence.Standing)
		kernel.set(func(f *fakeFence) { f.guard = false })
		assert.Equal(t, instance.FenceStatus{Reason: "no guard", Code: code.FenceLost}, b.Status()[0].Fence)
	})
}

func TestStatusOfABackupLooksAtItsFence(t *testing.T) {
	kernel := &fakeFence{egress: true, broken: errors.New("table gone")}
	run(t, nil, fenced(kernel), func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, nodeB))
		assert.Equal(t, instance.FenceStatus{Reason: "table gone", Code: code.FenceLost}, b.Status()[0].Fence)
		synctest.Wait()
		assert.Equal(t, mendedOnce(b.Status()[0].Fence.Repaired), b.Status()[0].Fence, "mended before it is needed")
	})
}
