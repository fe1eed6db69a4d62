package address

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

const eth1 = 3

// halfHost cannot bind on eth1.
type halfHost struct{ *fakeHost }

func (h halfHost) Bind(index int, addresses []netip.Prefix, valid time.Duration) error {
	if index == eth1 {
		return errFull
	}
	return h.fakeHost.Bind(index, addresses, valid)
}

// several serves vip4 where the election runs and vip6 on eth1, in a bubble.
func several(t *testing.T, wrap func(*fakeHost) Host, place func() (instance.Place, error), test func(t *testing.T, s *Several, h *fakeHost)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		h := newFakeHost()
		b := &bench{host: h}
		if place == nil {
			place = func() (instance.Place, error) { return instance.Place{Index: eth1, Name: "eth1"}, nil }
		}
		at := Host(h)
		if wrap != nil {
			at = wrap(h)
		}
		s := NewSeveral([]Part{
			{Addresses: []netip.Prefix{vip4}, Schedule: announcing(0)},
			{Addresses: []netip.Prefix{vip6}, Schedule: announcing(0), Place: place},
		}, at, b.logger(), func(election.Fitness) {})
		s.Begin(instance.Term{Place: h.place, Elector: newFakeElector()})
		test(t, s, h)
		s.End()
		require.NoError(t, s.Close())
		assert.Empty(t, h.bound)
	})
}

func decided(role election.Role) election.Decision {
	return election.Decision{Role: role, Reason: "decided", Holder: nodeA, At: time.Now()}
}

func TestSeveralServeOnBothInterfaces(t *testing.T) {
	several(t, nil, nil, func(t *testing.T, s *Several, h *fakeHost) {
		require.NoError(t, s.Apply(t.Context(), decided(election.Standby)))
		require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
		assert.Equal(t, []string{"add 10.77.0.100/32 2", "announce 1", "add fd77::100/128 3", "announce 1"}, h.take())
		assert.Equal(t, uint64(2), s.Status().Announcements)
		require.NoError(t, s.Announce())
		assert.Equal(t, []string{"announce 1", "announce 1"}, h.take())
		require.NoError(t, s.Apply(t.Context(), decided(election.Standby)))
		assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 3"}, h.take())
	})
}

func TestSeveralServeAllOrNothing(t *testing.T) {
	several(t, func(h *fakeHost) Host { return halfHost{h} }, nil, func(t *testing.T, s *Several, h *fakeHost) {
		require.ErrorIs(t, s.Apply(t.Context(), decided(election.Serve)), errFull)
		assert.Empty(t, h.bound)
		assert.Contains(t, h.take(), "del 10.77.0.100/32 2")
	})
}

func TestSeveralServeNothingWithoutAnInterface(t *testing.T) {
	down := errors.New("eth1 is down")
	several(t, nil, func() (instance.Place, error) { return instance.Place{}, down }, func(t *testing.T, s *Several, h *fakeHost) {
		require.NoError(t, s.Apply(t.Context(), decided(election.Standby)))
		require.ErrorIs(t, s.Apply(t.Context(), decided(election.Serve)), down)
		assert.Empty(t, h.bound)
	})
}

// Without a fence what is elsewhere goes when the address is passed on, and comes back if nobody takes it. What is not served is not passed on.
func TestSeveralPassOn(t *testing.T) {
	several(t, nil, nil, func(t *testing.T, s *Several, h *fakeHost) {
		require.NoError(t, s.Apply(t.Context(), decided(election.Standby)))
		require.NoError(t, s.Apply(t.Context(), decided(election.Quiet)))
		assert.Empty(t, h.take())
		require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
		h.take()
		require.NoError(t, s.Apply(t.Context(), decided(election.Quiet)))
		assert.Contains(t, h.take(), "del fd77::100/128 3")
		require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
		assert.Contains(t, h.take(), "add fd77::100/128 3")
		assert.Len(t, h.bound, 2)
	})
}

// severalFenced serves vip4 where the election runs and vip6 on eth1, each with a fence: another table may drop the advertisements behind the
// socket, and the kernel of eth0 then ends the lease that the elector still has.
func severalFenced(t *testing.T, first, second *fakeFence, test func(t *testing.T, s *Several, h *fakeHost)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		h := newFakeHost()
		b := &bench{host: h}
		part := func(vip netip.Prefix, f *fakeFence, place func() (instance.Place, error)) Part {
			fence := func(instance.Place, bool) (Fence, error) { return f, nil }
			return Part{Addresses: []netip.Prefix{vip}, Place: place, Schedule: announcing(0), Lease: time.Second, Fence: fence}
		}
		s := NewSeveral([]Part{
			part(vip4, first, nil),
			part(vip6, second, func() (instance.Place, error) { return instance.Place{Index: eth1, Name: "eth1"}, nil }),
		}, h, b.logger(), func(election.Fitness) {})
		elector := newFakeElector()
		elector.lease = time.Second
		s.Begin(instance.Term{Place: h.place, Elector: elector})
		require.NoError(t, s.Apply(t.Context(), decided(election.Standby)))
		test(t, s, h)
		s.End()
		require.NoError(t, s.Close())
	})
}

func TestSeveralElsewhereIsSilentWhileTheFirstInterfaceIs(t *testing.T) {
	first, second := &fakeFence{egress: true}, &fakeFence{}
	severalFenced(t, first, second, func(t *testing.T, s *Several, _ *fakeHost) {
		drop := func(dropped bool) {
			first.set(func(f *fakeFence) { f.dropped, f.kernelEnd = dropped, time.Now().Add(time.Second) })
		}
		require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			require.False(t, second.silent(), "as long as the first has a lease")
		}
		drop(true)
		time.Sleep(time.Second - renewEvery)
		assert.False(t, second.silent())
		time.Sleep(renewEvery + time.Millisecond)
		assert.True(t, second.silent(), "no longer than the kernel let the first answer")
		assert.True(t, time.Now().After(second.leaseEnd()), "nor does a mended fence answer")
		time.Sleep(5 * time.Second)
		assert.True(t, second.silent())
		drop(false)
		time.Sleep(askAgain + time.Millisecond)
		assert.False(t, second.silent(), "it answers again with the first")
		require.NoError(t, s.Apply(t.Context(), decided(election.Standby)))
		drop(true)
		time.Sleep(2 * time.Second)
		require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
		time.Sleep(300 * time.Millisecond)
		assert.True(t, second.silent(), "nor does it begin to")
		assert.True(t, s.Status().Fence.Standing, "the fence does what it is for")
	})
}

// With a fence nobody is told any more that the addresses are here, and who knows it is served until another node has them.
func TestSeveralPassOnBehindTheirFences(t *testing.T) {
	first, second := &fakeFence{egress: true}, &fakeFence{}
	severalFenced(t, first, second, func(t *testing.T, s *Several, h *fakeHost) {
		require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
		for range 2 {
			second.take()
			require.NoError(t, s.Apply(t.Context(), decided(election.Quiet)))
			assert.Contains(t, second.take(), "shut discovery")
			assert.Len(t, h.bound, 2)
			time.Sleep(time.Second)
			assert.False(t, second.silent())
			require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
			assert.Contains(t, second.take(), "reopen", "nobody has taken it")
		}
		require.NoError(t, s.Apply(t.Context(), decided(election.Quiet)))
		require.NoError(t, s.Apply(t.Context(), decided(election.Standby)))
		assert.Empty(t, h.bound, "another node has them")
		require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
		second.slow(time.Second)
		require.NoError(t, s.Apply(t.Context(), decided(election.Quiet)))
		assert.Equal(t, []Binding{{Index: eth0, Prefix: vip4}}, h.bound, "a kernel that is slow elsewhere lets go of it there")
	})
}

// The first interface's fence that somebody has taken away silences nobody: it is mended before what is elsewhere falls silent.
func TestSeveralElsewhereAnswersWhileTheFirstFenceIsMended(t *testing.T) {
	first, second := &fakeFence{egress: true}, &fakeFence{}
	severalFenced(t, first, second, func(t *testing.T, s *Several, _ *fakeHost) {
		require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
		time.Sleep(2 * time.Second)
		first.set(func(f *fakeFence) {
			f.dropped, f.broken = true, errors.New("table gone")
			f.onMend = func() { f.dropped = false }
		})
		for range 300 {
			time.Sleep(10 * time.Millisecond)
			require.False(t, second.silent())
		}
	})
}

// What somebody removes comes back, on either interface.
func TestSeveralRestore(t *testing.T) {
	several(t, nil, nil, func(t *testing.T, s *Several, h *fakeHost) {
		require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
		h.set(func(h *fakeHost) { h.bound = nil })
		h.take()
		s.HostChanged(h.place)
		assert.Equal(t, []string{"add 10.77.0.100/32 2", "announce 1", "add fd77::100/128 3", "announce 1"}, h.take())
	})
}

// An interface that was down in the moment in which the term began takes part as soon as it is there.
func TestSeveralServeOnAnInterfaceThatComesLate(t *testing.T) {
	down := errors.New("eth1 is down")
	place := func() (instance.Place, error) {
		if down != nil {
			return instance.Place{}, down
		}
		return instance.Place{Index: eth1, Name: "eth1"}, nil
	}
	several(t, nil, place, func(t *testing.T, s *Several, h *fakeHost) {
		require.NoError(t, s.Apply(t.Context(), decided(election.Standby)))
		require.ErrorIs(t, s.Apply(t.Context(), decided(election.Serve)), down)
		s.HostChanged(h.place)
		down = nil
		s.HostChanged(h.place)
		require.NoError(t, s.Apply(t.Context(), decided(election.Serve)))
		assert.Len(t, h.bound, 2)
	})
}

func TestJoinedStatusIsTheWorseAndTheSum(t *testing.T) {
	since := time.Now()
	one := instance.ServiceStatus{Announcements: 1, Restored: 1, Fence: instance.FenceStatus{Standing: true, Repairs: 1, Renewals: 1, RenewalErrors: 1, Lapses: 1}}
	other := one
	other.Passing, other.Lapsed, other.Fence.Standing, other.Fence.Reason = true, since, false, "no fence"
	want := instance.ServiceStatus{
		Passing: true, Lapsed: since, Announcements: 2, Restored: 2,
		Fence: instance.FenceStatus{Reason: "no fence", Repairs: 2, Renewals: 2, RenewalErrors: 2, Lapses: 2},
	}
	assert.Equal(t, want, joined(one, other))
	assert.Equal(t, want, joined(other, one))
}
