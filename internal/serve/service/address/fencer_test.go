package address

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// fakeFence is a kernel with one group.
type fakeFence struct {
	egress bool
	fail   error // of Renew
	open   error // of ShutIn

	delayIn   time.Duration // of ShutIn
	uncovered string

	mu        sync.Mutex // guards what follows
	did       []string
	renews    []time.Time
	guard     bool
	lease     time.Time // ends then
	dropped   bool      // what would renew the lease
	kernelEnd time.Time // of the lease, while that is dropped
	broken    error
	delay     time.Duration // of ShutDiscovery and Hold
	standby   time.Duration // what Standby returns
	refuse    error         // of a change of configuration, and of the start
	tries     int
	onMend    func()    // with the lock
	sharing   int       // instances; 0 is 1
	missed    time.Time // when one of them was found without its lease
	looked    []time.Time
	asked     []time.Time // for the lease

	leaseEnd func() time.Time // what another instance's Mend would go by
	gone     func()           // tells that others have taken the fence away
	refused  bool             // Mend does nothing
	told     bool             // changes of others are followed
}

// try is a change that may be refused.
func (f *fakeFence) try() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	return f.refuse
}

func (f *fakeFence) set(change func(*fakeFence)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

var _ Fence = (*fakeFence)(nil)

func (f *fakeFence) note(what string, change func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, what)
	change()
	return nil
}

// Reopen is refused by a fence that others have taken away.
func (f *fakeFence) Reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken == nil {
		f.did = append(f.did, "reopen")
	}
	return f.broken
}

func (f *fakeFence) ShutIn() error {
	time.Sleep(f.delayIn)
	return errors.Join(f.open, f.note("shut in", func() {}))
}
func (f *fakeFence) ShutOut() error { return f.note("shut out", func() {}) }
func (f *fakeFence) Release() error { return f.note("release", func() { f.guard = false }) }
func (f *fakeFence) Close() error   { return f.note("close", func() {}) }

// SpreadUntil is printed by how long that is from now.
func (f *fakeFence) SpreadUntil(until time.Time) error {
	return f.note("spread for "+time.Until(until).String(), func() {})
}

func (f *fakeFence) Renewing() bool { return f.egress }

func (f *fakeFence) Mend() error {
	if f.refused {
		return errors.New("refused")
	}
	return f.note("mend", func() {
		f.broken = nil
		if f.onMend != nil {
			f.onMend()
		}
	})
}

func (f *fakeFence) Follow(leaseEnd func() time.Time, gone func()) {
	f.set(func(f *fakeFence) { f.leaseEnd, f.gone = leaseEnd, gone })
}

func (f *fakeFence) Told() bool { return f.told }

func (f *fakeFence) Uncovered() string { return f.uncovered }

func (f *fakeFence) LeaseLeft() (time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, time.Now())
	if f.dropped {
		return max(0, time.Until(f.kernelEnd)), nil
	}
	return time.Hour, nil
}

func (f *fakeFence) Missed() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.missed
}

func (f *fakeFence) Sharing() int { return max(f.sharing, 1) }

func (f *fakeFence) ShutDiscovery() error {
	if f.fail != nil {
		return f.fail
	}
	f.wait()
	return f.note("shut discovery", func() {})
}

func (f *fakeFence) Standby() (time.Duration, error) {
	f.wait()
	if f.standby == 0 {
		return 0, nil
	}
	return f.standby, f.note("standby", func() { f.guard = true })
}

func (f *fakeFence) Hold() error {
	f.wait()
	return f.note("hold", func() { f.guard = true })
}

func (f *fakeFence) wait() {
	f.mu.Lock()
	delay := f.delay
	f.mu.Unlock()
	time.Sleep(delay)
}

func (f *fakeFence) slow(delay time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = delay
}

func (f *fakeFence) Verify(_ time.Duration, held bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked = append(f.looked, time.Now())
	if f.broken == nil && held && !f.guard {
		return errors.New("no guard")
	}
	return f.broken
}

func (f *fakeFence) guarded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.guard
}

func (f *fakeFence) Renew(until time.Time) error {
	if f.fail != nil {
		return f.fail
	}
	return f.note("renew", func() { f.lease, f.renews = until, append(f.renews, time.Now()) })
}

// silent tells whether the kernel drops what is for the addresses.
func (f *fakeFence) silent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.guard && !time.Now().Before(f.lease)
}

func (f *fakeFence) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	did := f.did
	f.did = nil
	return did
}

// advertiser keeps a lease as an elector does: each advertisement begins a lease.
type advertiser struct {
	mu       sync.Mutex // guards leaseEnd
	leaseEnd time.Time
}

func (a *advertiser) until() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leaseEnd
}

func (a *advertiser) advertise(lease time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leaseEnd = time.Now().Add(lease)
}

func leaseOf(interval time.Duration) time.Duration { return 3*interval - 10*time.Millisecond }

func TestFencerRenewsByTransactionWhereTheKernelDoesNot(t *testing.T) {
	for _, interval := range []time.Duration{100, 110, 130, 150, 200, 250, 330, 1000} {
		interval *= time.Millisecond
		t.Run(interval.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				kernel, elector, lease := &fakeFence{}, &advertiser{}, leaseOf(interval)
				elector.advertise(lease)
				f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: elector.until, length: lease}, false)
				f.hold()
				const adverts = 40
				for range adverts {
					for range 20 {
						time.Sleep(interval / 20)
						synctest.Wait()
						require.False(t, kernel.silent(), "an address with a lease falls silent")
					}
					elector.advertise(lease)
				}
				for i := 5; i < len(kernel.renews); i++ {
					require.GreaterOrEqual(t, kernel.renews[i].Sub(kernel.renews[i-5]), time.Second, "more than five a second")
				}
				assert.True(t, f.status().Standing)

				// The daemon's adverts do not leave any more.
				last := elector.until()
				time.Sleep(time.Until(last) + time.Millisecond)
				assert.True(t, kernel.silent())
				before := len(kernel.renews)
				time.Sleep(5 * time.Second)
				assert.Len(t, kernel.renews, before)
				assert.Equal(t, uint64(before), f.seen().Renewals)
				assert.Zero(t, f.seen().RenewalErrors)
				f.close()
			})
		})
	}
}

// A guard is held again every second or so, which renews the lease in passing: that must not bring the others out of step.
func TestFencerRenewsWithTheNewsAlsoAfterAHold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kernel, elector := &fakeFence{}, &advertiser{}
		const every, lease = 200 * time.Millisecond, 440 * time.Millisecond
		news := make(chan struct{}, 1)
		elector.advertise(lease)
		f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: elector.until, news: news, length: lease}, false)
		f.hold()
		expected := map[time.Time]bool{time.Now(): true}
		for i := range 100 {
			time.Sleep(every / 2)
			if i%7 == 6 {
				expected[time.Now()] = true
				f.hold()
			}
			time.Sleep(every / 2)
			elector.advertise(lease)
			expected[time.Now()] = true
			news <- struct{}{}
			synctest.Wait()
		}
		for _, at := range kernel.renews {
			require.True(t, expected[at], "neither with news nor with a hold")
		}
		assert.Len(t, kernel.renews, 100+1+100/7)
		f.close()
	})
}

// Where the elector tells that there is something to renew nobody looks in between.
func TestFencerRenewsWhenItIsTold(t *testing.T) {
	for _, every := range []time.Duration{40, 120, 180, 199, 200, 201, 240, 300, 400} {
		every *= time.Millisecond
		t.Run(every.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				kernel, elector, lease := &fakeFence{}, &advertiser{}, every+240*time.Millisecond
				var asked atomic.Int64
				news := make(chan struct{}, 1)
				ask := func() time.Time { asked.Add(1); return elector.until() }
				elector.advertise(lease)
				f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: ask, news: news, length: lease}, false)
				began := time.Now()
				time.Sleep(every * 9 / 10)
				f.hold()
				told, number := map[time.Time]bool{}, int64(60)
				for i := range 60 {
					late := time.Duration(i%3) * time.Millisecond
					time.Sleep(time.Until(began.Add(time.Duration(i+1)*every + late)))
					require.False(t, kernel.silent(), "an address with a lease falls silent")
					elector.advertise(lease)
					told[time.Now()] = true
					news <- struct{}{}
					if every >= renewEvery { // the answer of another member, which is no more than the first
						synctest.Wait()
						elector.advertise(lease + time.Millisecond)
						news <- struct{}{}
						number++
					}
				}
				synctest.Wait()
				for i := 10; i < len(kernel.renews); i++ {
					require.GreaterOrEqual(t, kernel.renews[i].Sub(kernel.renews[i-10]), 1800*time.Millisecond, "more than five a second, but for one")
				}
				if every >= renewEvery {
					for _, at := range kernel.renews[4:] {
						require.True(t, told[at], "between two news")
					}
				}
				seconds := int(60 * every / time.Second)
				assert.Less(t, asked.Load(), 4*number+int64(8*(seconds+1)), "asked more often than told")
				last := elector.until()
				time.Sleep(time.Until(last) + time.Millisecond)
				assert.True(t, kernel.silent())
				f.close()
			})
		})
	}
}

func TestFencerLeavesTheRenewalToTheKernel(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kernel, elector := &fakeFence{egress: true}, &advertiser{}
		elector.advertise(time.Hour)
		f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: elector.until, length: leaseOf(10 * time.Millisecond)}, false)
		f.hold()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"hold"}, kernel.take())
		f.close()
	})
}

func TestFencerDoesNotGuardWhatItCannotRenew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kernel, elector := &fakeFence{guard: true}, &advertiser{}
		elector.advertise(time.Hour)
		f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: elector.until, length: leaseOf(90 * time.Millisecond)}, true)
		assert.Equal(t, instance.FenceStatus{Reason: errTooFast.Error()}, f.status())
		f.hold()
		synctest.Wait()
		assert.Equal(t, []string{"release"}, kernel.take(), "the guard of an earlier run goes")
		f.hold()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(t, kernel.take())
		assert.False(t, f.status().Standing)
		assert.Contains(t, f.status().Reason, "only the lifetime of the address")
		f.close()
	})
}

func TestFencerWithoutARenewalDoesNotGuard(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kernel, elector := &fakeFence{fail: errors.New("the lease is over already")}, &advertiser{}
		elector.advertise(time.Hour)
		f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: elector.until, length: leaseOf(time.Second)}, false)
		f.hold()
		synctest.Wait()
		assert.Empty(t, kernel.take())
		assert.False(t, f.status().Standing)
		assert.NotZero(t, f.seen().RenewalErrors)
		f.close()
	})
}

func TestFencerMendsWhileEntitledAndNoLongerThanThat(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kernel, elector := &fakeFence{egress: true}, &advertiser{}
		elector.advertise(time.Hour)
		f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: elector.until, length: time.Second}, false)
		f.hold()
		synctest.Wait()
		kernel.take()
		kernel.mu.Lock()
		kernel.broken = errors.New("table gone")
		kernel.mu.Unlock()
		assert.Equal(t, instance.FenceStatus{Reason: "table gone"}, f.status(), "status looks for itself")
		synctest.Wait()
		assert.Equal(t, []string{"mend", "renew"}, kernel.take())
		assert.Equal(t, elector.until(), kernel.lease, "the lease in the kernel ends with that of the elector")
		want := mendedOnce(f.status().Repaired)
		want.Code = ""
		assert.Equal(t, want, f.status())

		kernel.mu.Lock()
		kernel.broken = errors.New("table gone")
		kernel.mu.Unlock()
		time.Sleep(checkEvery)
		synctest.Wait()
		assert.Equal(t, []string{"mend", "renew"}, kernel.take(), "nobody asked")
		f.close()
	})
}

// A fence that others take away is made anew by its link, for all who share it.
func TestFencerIsToldThatTheFenceWasGone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kernel, elector := &fakeFence{egress: true, told: true}, &advertiser{}
		elector.advertise(time.Hour)
		f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: elector.until, length: time.Second}, false)
		defer f.close()
		f.hold()
		synctest.Wait()
		kernel.take()
		kernel.gone()
		synctest.Wait()
		assert.Equal(t, []string{"renew"}, kernel.take(), "it was made anew before")
		assert.Equal(t, uint64(1), f.seen().Repairs)

		kernel.set(func(f *fakeFence) { f.broken = errors.New("refused") })
		kernel.gone()
		synctest.Wait()
		assert.Equal(t, []string{"mend", "renew"}, kernel.take(), "it was not")
		assert.Equal(t, uint64(2), f.seen().Repairs)
	})
}

// mendedOnce is the status of a fence that was built anew at that time, which must be a time.
func mendedOnce(at time.Time) instance.FenceStatus {
	if at.IsZero() {
		return instance.FenceStatus{}
	}
	return instance.FenceStatus{Standing: true, Repairs: 1, Repaired: at, Code: code.FenceLost}
}

// orderedFence notes when it is looked at.
type orderedFence struct {
	*fakeFence
	order []string
}

func (f *orderedFence) Verify(within time.Duration, held bool) error {
	f.order = append(f.order, "look")
	return f.fakeFence.Verify(within, held)
}

// A look tells how the fence is with everything that was asked for before: what is only on its way is not missing.
func TestFenceIsLookedAtAfterWhatWasAskedBefore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		kernel := &orderedFence{fakeFence: &fakeFence{}}
		f := newFencer(kernel, slog.New(slog.DiscardHandler), leasing{end: time.Now, length: time.Second}, false)
		for range 20 { // a worker that takes what it likes first would be right now and then
			busy := make(chan struct{})
			f.ask(fenceJob{keep: true, do: func(Fence) error { <-busy; return nil }}, 0)
			synctest.Wait()
			f.ask(fenceJob{keep: true, do: func(Fence) error { kernel.order = append(kernel.order, "job"); return nil }}, 0)
			seen := f.look()
			close(busy)
			<-seen
			synctest.Wait()
			require.Equal(t, []string{"job", "look"}, kernel.order)
			kernel.order = nil
		}
		f.close()
	})
}
