package virtualrouter

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// three starts three equal nodes and returns the holder and the others.
func three(t *testing.T, l *lan, change ...func(*vrrp.Config)) (h *member, others []*member) {
	t.Helper()
	all := []*member{}
	for _, a := range []netip.Addr{nodeA, nodeB, nodeC} {
		all = append(all, l.start(t, a, func(c *vrrp.Config) {
			for _, do := range change {
				do(c)
			}
		}))
	}
	h = holder(t, time.Second, all...)
	for _, m := range all {
		if m != h {
			others = append(others, m)
		}
	}
	return h, others
}

func TestVRRPEqualsElectOneWithoutASecondTakeover(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		time.Sleep(10 * time.Second)
		assert.Equal(t, uint64(1), h.Status().Counters.Takeovers)
		for _, o := range others {
			assert.Zero(t, o.Status().Counters.Takeovers, "%s", o.self)
			assert.Equal(t, h.self, o.Status().Holder)
			assert.Equal(t, election.Backup, o.Status().State)
		}
		stopAll(t, append(others, h)...)
	})
}

func TestVRRPShutdownReleasesBeforePriorityZero(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		require.NoError(t, h.stop())
		what := l.what(h.self)
		require.GreaterOrEqual(t, len(what), 2)
		assert.Equal(t, []string{"release", "send 0"}, what[len(what)-2:])
		assert.Equal(t, uint64(1), h.Status().Counters.Resigned)
		holder(t, 200*time.Millisecond, others...)
		for _, o := range others {
			assert.Equal(t, uint64(1), o.Status().Counters.Resignations, "%s", o.self)
			assert.Zero(t, o.Status().Counters.Resigned, "%s", o.self)
		}
		stopAll(t, others...)
	})
}

func TestVRRPDeadHolderIsReplacedWithinActiveDownInterval(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		l.isolate(h.self, true)
		at := time.Now()
		next := holder(t, 500*time.Millisecond, others...)
		last := next.last()
		// Three intervals, Skew_Time at priority 100, the tie-break delay, and the way of the last advertisement.
		assert.LessOrEqual(t, last.At.Sub(at), 3*interval+61*time.Millisecond+interval/8+2*time.Millisecond)
		stopAll(t, append(others, h)...)
	})
}

func TestVRRPUnfitHolderYieldsToAFitNode(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		h.SetFitness(election.Fitness{Less: 255, Reason: "unhealthy"})
		next := holder(t, 500*time.Millisecond, append(others, h)...)
		assert.NotEqual(t, h.self, next.self)
		assert.Equal(t, uint8(unfitPriority), h.Status().Priority)
		h.SetFitness(election.Fitness{})
		same := holder(t, 5*time.Second, append(others, h)...)
		assert.Equal(t, next.self, same.self, "a node that recovers does not take the address from an equal")
		stopAll(t, append(others, h)...)
	})
}

func TestVRRPNobodyMovesWhenAllAreIll(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		for _, m := range append(slices.Clone(others), h) {
			m.SetFitness(election.Fitness{Less: 255, Reason: "unhealthy"})
		}
		same := holder(t, 10*time.Second, append(others, h)...)
		assert.Equal(t, h.self, same.self)
		assert.Equal(t, uint64(1), h.Status().Counters.Takeovers)
		stopAll(t, append(others, h)...)
	})
}

func TestVRRPUnfitNodesElectOneAndTheFirstFitOneGetsIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		unfit := election.Fitness{Less: 255, Reason: "unhealthy"}
		a, b := l.start(t, nodeA, nil), l.start(t, nodeB, nil)
		a.SetFitness(unfit)
		b.SetFitness(unfit)
		h := holder(t, time.Second, a, b)
		other := a
		if h == a {
			other = b
		}
		other.SetFitness(election.Fitness{})
		assert.Equal(t, other.self, holder(t, time.Second, a, b).self)
		stopAll(t, a, b)
	})
}

func TestVRRPNodeThatIsOutNeverHolds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		a := l.start(t, nodeA, nil)
		a.SetFitness(election.Fitness{Out: true, Reason: "held back"})
		time.Sleep(5 * time.Second)
		assert.Empty(t, holders(a))
		assert.Equal(t, election.Initialize, a.Status().State)
		a.SetFitness(election.Fitness{})
		holder(t, time.Second, a)
		a.SetFitness(election.Fitness{Out: true, Reason: "held back"})
		synctest.Wait()
		assert.Empty(t, holders(a), "it resigns at once")
		assert.Equal(t, "send 0", l.what(nodeA)[len(l.what(nodeA))-1])
		stopAll(t, a)
	})
}

func TestVRRPNodeThatWaitsHoldsSoonAfterTheWait(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		a := l.start(t, nodeA, nil)
		a.SetFitness(election.Fitness{Wait: true, Reason: "a claim is looked at"})
		time.Sleep(5 * time.Second)
		assert.Empty(t, holders(a))
		assert.Equal(t, election.Backup, a.Status().State)
		assert.Empty(t, l.what(nodeA), "it has said nothing")
		a.SetFitness(election.Fitness{})
		// Its timer has run out long ago: it listens for one interval and Skew_Time more, as after any such lag.
		holder(t, 2*interval+interval/8, a)
		a.SetFitness(election.Fitness{Wait: true})
		synctest.Wait()
		assert.Len(t, holders(a), 1, "a holder stays")
		stopAll(t, a)
	})
}

func TestVRRPNodeThatWaitsLosesNoTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		began := time.Now()
		a := l.start(t, nodeA, nil)
		a.SetFitness(election.Fitness{Wait: true})
		time.Sleep(interval)
		a.SetFitness(election.Fitness{})
		holder(t, time.Second, a)
		assert.Less(t, a.last().At.Sub(began), 4*interval)
		stopAll(t, a)
	})
}

func TestVRRPOwnerCannotWait(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		a := l.start(t, nodeA, func(c *vrrp.Config) { c.Priority = ownerPriority })
		holder(t, time.Second, a)
		a.SetFitness(election.Fitness{Wait: true})
		synctest.Wait()
		assert.Len(t, holders(a), 1, "a holder stays")
		a.SetFitness(election.Fitness{Out: true})
		synctest.Wait()
		a.SetFitness(election.Fitness{Wait: true})
		time.Sleep(time.Second)
		assert.Equal(t, election.Initialize, a.Status().State, "it would hold at once")
		stopAll(t, a)
	})
}

func TestVRRPPartitionHealsToOneHolderThatAnnouncesLast(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		all := append(slices.Clone(others), h)
		l.isolate(h.self, true)
		time.Sleep(3 * time.Second)
		require.Len(t, holders(all...), 2, "the isolated one cannot know")
		l.isolate(h.self, false)
		winner := holder(t, 500*time.Millisecond, all...)
		l.mu.Lock()
		defer l.mu.Unlock()
		released := slices.IndexFunc(l.log, func(e entry) bool { return e.what == "release" })
		again := -1
		for i, e := range l.log {
			if e.what == "again" && e.node == winner.self {
				again = i
			}
		}
		require.GreaterOrEqual(t, released, 0)
		assert.Greater(t, again, released, "the winner announces after the loser has released")
	})
}

func TestVRRPFrozenHolderDoesNotGoOnAfterItWakes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		thaw := h.wire.freeze()
		next := holder(t, 2*time.Second, others...)
		thaw()
		same := holder(t, time.Second, append(others, h)...)
		assert.Contains(t, []*member{next, h}, same)
		assert.Len(t, holders(append(others, h)...), 1)
		stopAll(t, append(others, h)...)
	})
}

// sleepyWire is one on which a process is frozen while it sends.
type sleepyWire struct{ *lanWire }

func (w sleepyWire) Send(adv vrrp.Advertisement) error {
	err := w.lanWire.Send(adv)
	time.Sleep(10 * time.Second)
	return err
}

// The lease of the kernel began when the advertisement left, not when the process that sent it went on.
func TestVRRPLeaseCountsFromBeforeTheAdvertisement(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		cfg := vrrp.Config{Version: 3, VRID: 51, Priority: ownerPriority, Interval: interval, Preempt: true, Source: nodeA, Addresses: []netip.Addr{vip}}
		e, err := New(Config{Router: cfg}, sleepyWire{newLAN().join(nodeA)}, quiet)
		require.NoError(t, err)
		e.apply = func(election.Decision) error { return nil }
		e.step(nil, begin{})
		require.Equal(t, election.Active, e.Status().State)
		assert.False(t, time.Now().Before(e.LeaseEnd()), "it is over")
	})
}

func TestVRRPResignsWhenTheHostCannotBindAndTriesAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		a := l.start(t, nodeA, func(c *vrrp.Config) { c.Priority = 200 })
		a.setRefuse(true)
		b := l.start(t, nodeB, nil)
		assert.Equal(t, nodeB, holder(t, 2*time.Second, a, b).self)
		assert.Contains(t, a.Status().Fitness.Reason, "refuses")
		taken := b.Status().Counters.Takeovers
		time.Sleep(5 * time.Second)
		assert.Equal(t, taken, b.Status().Counters.Takeovers, "a node that cannot bind does not take the address again and again")
		a.setRefuse(false)
		assert.Equal(t, nodeA, holder(t, 10*time.Second, a, b).self, "the better one tries again after a while")
		stopAll(t, a, b)
	})
}

func TestVRRPReconfigureKeepsTheAddress(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		a, b := l.start(t, nodeA, nil), l.start(t, nodeB, nil)
		h := holder(t, time.Second, a, b)
		cfg := h.Elector.(*Elector).cfg.Router
		cfg.Interval = 50 * time.Millisecond
		h.Elector.(*Elector).Reconfigure(cfg, cfg.Addresses[0], 0, 0)
		same := holder(t, 2*time.Second, a, b)
		assert.Equal(t, h.self, same.self)
		assert.Equal(t, uint64(1), h.Status().Counters.Takeovers)
		stopAll(t, a, b)
	})
}

func TestVRRPReportsTheHolderItHears(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		a := l.start(t, nodeA, nil)
		holder(t, time.Second, a)
		b := l.start(t, nodeB, nil)
		time.Sleep(300 * time.Millisecond)
		last := b.last()
		assert.Equal(t, election.Standby, last.Role)
		assert.Equal(t, nodeA, last.Holder)
		b.SetFitness(election.Fitness{Out: true})
		l.isolate(nodeA, true)
		time.Sleep(time.Second)
		assert.False(t, b.Status().Holder.IsValid(), "also a node that is out forgets a silent holder")
		stopAll(t, a, b)
	})
}

func TestVRRPShowsAnotherListOfAddresses(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		other := netip.MustParseAddr("10.77.0.101")
		l := newLAN()
		a := l.start(t, nodeA, nil)
		b := l.start(t, nodeB, func(c *vrrp.Config) { c.Addresses = []netip.Addr{vip, other}; c.Priority = 200 })
		time.Sleep(time.Second)
		note := func() string { return a.Status().Members[1].Note }
		assert.Equal(t, "advertises another list of addresses: 10.77.0.100, 10.77.0.101, want 10.77.0.100", note())
		cfg := vrrp.Config{
			Version: 3, VRID: 51, Priority: 100, Interval: interval, Preempt: true,
			Source: nodeA, Addresses: []netip.Addr{other, vip},
		}
		a.Elector.(*Elector).Reconfigure(cfg, cfg.Addresses[0], 0, 0)
		time.Sleep(time.Second)
		assert.Empty(t, note(), "the order does not matter")
		assert.Equal(t, []netip.Addr{other, vip}, a.wire.addresses())
		stopAll(t, a, b)
	})
}

// With version 2 another interval is a reason to drop (RFC 3768, section 7.1), and an operator has to know.
func TestVRRPRejectsAnotherIntervalOfVersion2(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		v2 := func(interval time.Duration) func(*vrrp.Config) {
			return func(c *vrrp.Config) { c.Version, c.Interval = 2, interval }
		}
		a := l.start(t, nodeA, v2(time.Second))
		b := l.start(t, nodeB, v2(2*time.Second))
		time.Sleep(20 * time.Second)
		assert.Len(t, holders(a, b), 2, "RFC 3768 has it so")
		s := a.Status()
		assert.NotZero(t, s.Counters.Rejected["interval"])
		require.NotEmpty(t, s.Rejected)
		assert.Equal(t, nodeB, s.Rejected[0].Source)
		assert.Equal(t, "vrrp: advertisement interval 2s, want 1s", s.Rejected[0].Text)
		assert.Zero(t, s.Counters.Received)
		stopAll(t, a, b)
	})
}
