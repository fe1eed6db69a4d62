package virtualrouter

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// messageWire is a MembersWire on a lan. Messages take half as long as advertisements.
type messageWire struct {
	lan     *lan
	self    netip.Addr
	group   netip.Addr // guarded by lan.mu
	arrived chan struct{}
	waiting []members.Received // guarded by lan.mu
	deaf    members.Type       // of this type nothing is heard; 0 for none
}

// meet makes the node of that configuration a member.
func (l *lan) meet(self netip.Addr, c *Config) {
	w := &messageWire{lan: l, self: self, group: vip, arrived: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mail = append(l.mail, w)
	c.Members, c.AsMember = w, members.Config{
		Group: vip, Node: "node-" + self.String(), Session: uint64(len(l.mail)), RecoverHold: members.DefaultRecoverHold,
	}
}

func (w *messageWire) Send(m members.Message) error {
	w.lan.mu.Lock()
	defer w.lan.mu.Unlock()
	if m.Type != members.Hello {
		w.lan.log = append(w.lan.log, entry{w.self, m.Type.String(), time.Now()})
	}
	if w.lan.cut[w.self] {
		return nil
	}
	for _, o := range w.lan.mail {
		if o != w && !w.lan.cut[o.self] && !w.lan.nothing[o.self] && o.deaf != m.Type && o.group == m.Peer.Group {
			r := members.Received{Source: w.self, Message: m}
			if w.lan.deaf[[2]netip.Addr{w.self, o.self}] {
				r = members.Received{Source: w.self, Refused: members.RejectUnsigned}
			}
			time.AfterFunc(time.Millisecond/2+w.lan.later, func() { o.put(r) })
		}
	}
	return nil
}

func (w *messageWire) put(r members.Received) {
	w.lan.mu.Lock()
	w.waiting = append(w.waiting, r)
	w.lan.mu.Unlock()
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

func (w *messageWire) Arrived() <-chan struct{} { return w.arrived }

func (w *messageWire) Rename(group netip.Addr) {
	w.lan.mu.Lock()
	defer w.lan.mu.Unlock()
	w.group = group
}

func (w *messageWire) Rejected() map[members.Reason]uint64 {
	return map[members.Reason]uint64{members.RejectReplay: 3}
}

func (w *messageWire) Take(dst []members.Received) []members.Received {
	w.lan.mu.Lock()
	defer w.lan.mu.Unlock()
	dst = append(dst, w.waiting...)
	w.waiting = nil
	return dst
}

// make nobody hear messages of a type any more.
func (l *lan) deafen(t members.Type) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.mail {
		w.deaf = t
	}
}

func (l *lan) mark() { l.mu.Lock(); defer l.mu.Unlock(); l.log = nil }

var unfit = election.Fitness{Less: 255, Reason: "unhealthy"}

// talking starts three equal nodes that speak the members' protocol.
func talking(t *testing.T) (l *lan, h *member, others []*member) {
	t.Helper()
	l = newLAN()
	l.talk = true
	h, others = three(t, l)
	time.Sleep(time.Second)
	l.mark()
	return l, h, others
}

// The group is named by its first address, so a reload that changes the first address changes the name: as for a node that is
// restarted with the new file.
func TestHandoverFollowsTheFirstAddress(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		speaking := func(m *member) (n int) {
			for _, o := range m.Status().Members {
				if o.Speaks() && !o.Self {
					n++
				}
			}
			return n
		}
		next := netip.MustParseAddr("10.77.0.200")
		all := append([]*member{h}, others...)
		for i, m := range all {
			cfg := m.Elector.(*Elector).cfg.Router
			cfg.Addresses = []netip.Addr{next, vip}
			m.Elector.(*Elector).Reconfigure(cfg, cfg.Addresses[0], 0, 0)
			time.Sleep(100 * time.Millisecond)
			for k, o := range all {
				want := i // the others that were changed, too
				if k > i {
					want = len(all) - 2 - i // the others that are as they were
				}
				assert.Equal(t, want, speaking(o), "%d changed, member %d", i+1, k)
			}
		}
		assert.Equal(t, election.Active, h.Status().State)
		stopAll(t, all...)
	})
}

func TestHandoverKnowsTheMembers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		others[0].SetFitness(unfit)
		time.Sleep(10 * time.Millisecond)
		assert.Equal(t, map[string]uint64{"replay": 3}, h.Status().Counters.MembersRejected)
		list := h.Status().Members
		require.Len(t, list, 3)
		assert.True(t, list[0].Self)
		for _, m := range list[1:] {
			assert.Equal(t, "node-"+m.Address.String(), m.Node)
			assert.Equal(t, election.Backup, m.State)
			assert.Equal(t, m.Address != others[0].self, m.SaysFit())
			if !m.SaysFit() {
				assert.Equal(t, "unhealthy", m.Unfit)
				assert.Equal(t, uint8(unfitPriority), m.Priority)
			}
		}
		require.NoError(t, others[0].stop())
		time.Sleep(10 * time.Millisecond)
		assert.Len(t, h.Status().Members, 2, "it has said good-bye")
		stopAll(t, h, others[1])
	})
}

// The whole order: the holder shuts discovery before it grants, the taker binds and is heard, the holder lets go.
func TestHandoverUnfitHolderPassesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		at := time.Now()
		h.SetFitness(unfit)
		next := holder(t, 50*time.Millisecond, append(others, h)...)
		require.NotEqual(t, h.self, next.self)
		assert.Equal(t, []string{"quiet", "GRANT", "release"}, l.what(h.self))
		assert.Equal(t, []string{"REQUEST", "send 1", "bind"}, l.what(next.self)[:3])
		assert.Less(t, next.last().At.Sub(at), 5*time.Millisecond)
		assert.Equal(t, string(vrrp.ReasonGranted), next.Status().Reason)
		assert.Equal(t, uint64(1), next.Status().Counters.Granted)
		assert.Equal(t, uint64(1), h.Status().Counters.PassedOn)
		h.SetFitness(election.Fitness{})
		assert.Equal(t, next, holder(t, 10*time.Second, append(others, h)...))
		assert.Equal(t, uint64(1), next.Status().Counters.Takeovers)
		stopAll(t, append(others, h)...)
	})
}

func TestHandoverProbesFirst(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		var passes atomic.Bool
		var probes atomic.Int32
		for _, o := range others {
			o.SetProbe(func(ctx context.Context) election.Fitness {
				probes.Add(1)
				select {
				case <-time.After(5 * time.Millisecond):
				case <-ctx.Done():
				}
				if passes.Load() {
					return election.Fitness{}
				}
				return unfit
			})
		}
		h.SetFitness(unfit)
		assert.Equal(t, h, holder(t, 3*time.Second, append(others, h)...), "nobody is better, whatever was thought")
		assert.NotContains(t, l.what(others[0].self), "REQUEST")
		assert.Greater(t, probes.Load(), int32(10))
		passes.Store(true)
		assert.NotEqual(t, h, holder(t, 300*time.Millisecond, append(others, h)...))
		stopAll(t, append(others, h)...)
	})
}

func TestHandoverThatFailsIsLeftToVRRP(t *testing.T) {
	for _, lost := range []members.Type{members.Request, members.Grant} {
		t.Run(lost.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l, h, others := talking(t)
				l.deafen(lost)
				h.SetFitness(unfit)
				next := holder(t, 1500*time.Millisecond, append(others, h)...)
				assert.NotEqual(t, h.self, next.self)
				stopAll(t, append(others, h)...)
			})
		})
	}
}

// A taker that stands still after it has drained its socket must not use a GRANT that the former holder may have taken back:
// its age counts from the REQUEST.
func TestHandoverRequesterFrozenBeforeItUsesTheGrant(t *testing.T) {
	for _, frozen := range []time.Duration{0, 50 * time.Millisecond, 90 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 420 * time.Millisecond, time.Second} {
		t.Run(frozen.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l, h, others := talking(t)
				var stood atomic.Bool
				for _, o := range others {
					l.mu.Lock()
					o.wire.drained = func() {
						if slices.Contains(l.what(h.self), "GRANT") && stood.CompareAndSwap(false, true) {
							time.Sleep(frozen)
						}
					}
					l.mu.Unlock()
				}
				h.SetFitness(unfit)
				all := append(others, h)
				for range 1000 {
					time.Sleep(time.Millisecond)
					if list := holders(all...); len(list) > 1 {
						require.LessOrEqual(t, len(list), 1, "after a GRANT that was taken too late")
					}
				}
				l.mu.Lock()
				said := slices.Clone(l.log)
				l.mu.Unlock()
				for _, o := range all {
					for _, c := range o.taken() {
						assert.True(t, slices.ContainsFunc(said, func(e entry) bool {
							return e.what == "REQUEST" && e.node == o.self && !c.At.Before(e.at) && c.At.Sub(e.at) < Lease(vrrp.Config{Interval: interval})/3
						}), "taken later than a third of the lease after the REQUEST")
					}
				}
				stopAll(t, all...)
			})
		})
	}
}

// The lease of a holder begins with each of its advertisements. Whoever has the higher priority has to wait from there, and not
// from the last one that it would have followed without knowing that the address is about to be passed on.
func TestHandoverUnfitHolderThatDiesIsWaitedFor(t *testing.T) {
	for lasted := time.Duration(0); lasted < interval; lasted += 5*time.Millisecond + time.Millisecond/2 {
		for _, dies := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 105 * time.Millisecond} {
			bubble.Test(t, func(t *testing.T) {
				l, h, others := talking(t)
				l.deafen(members.Request) // a handover that lasts
				l.delay(time.Millisecond)
				l.await(h.self)
				time.Sleep(lasted)
				h.SetFitness(unfit)
				time.Sleep(dies)
				l.isolate(h.self, true)
				lease := l.sent(h.self).Add(Lease(vrrp.Config{Interval: interval}))
				next := holder(t, 4*interval+dies, others...)
				assert.True(t, next.last().At.After(lease), "unfit after %v, dead after %v: taken %v before the lease was over", lasted, dies, lease.Sub(next.last().At))
				stopAll(t, append(others, h)...)
			})
		}
	}
}

// delay makes messages later than advertisements that leave with them.
func (l *lan) delay(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.later = by
}

// sent is when the node sent its last advertisement.
func (l *lan) sent(node netip.Addr) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	var at time.Time
	for _, e := range l.log {
		if e.node == node && strings.HasPrefix(e.what, "send ") {
			at = e.at
		}
	}
	return at
}

// await returns when the node has just sent its next advertisement.
func (l *lan) await(node netip.Addr) {
	for before := l.sent(node); l.sent(node).Equal(before); {
		time.Sleep(time.Millisecond / 10)
	}
}

func TestHandoverHigherPriorityAsksInsteadOfPreempting(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk = true
		low := l.start(t, nodeB, nil)
		holder(t, time.Second, low)
		l.mark()
		high := l.start(t, nodeA, func(c *vrrp.Config) { c.Priority = 150 })
		assert.Equal(t, high, holder(t, 2*time.Second, low, high))
		assert.Contains(t, l.what(low.self), "GRANT")
		stopAll(t, low, high)
	})
}

// The holder is well, and short of a processor: it answers no REQUEST for three seconds. It would answer for the address until it had heard that it
// was taken. One that never hears a REQUEST gives way by plain VRRP, later.
func TestHandoverHigherPriorityIsPatientWithAFitHolder(t *testing.T) {
	for name, ends := range map[string]bool{"slow": true, "port filtered": false} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLAN()
				l.talk = true
				low := l.start(t, nodeB, nil)
				holder(t, time.Second, low)
				high := l.start(t, nodeA, func(c *vrrp.Config) { c.Priority = 150 })
				l.deafen(members.Request)
				assert.Equal(t, low, holder(t, 3*time.Second, low, high))
				if ends {
					l.deafen(0)
				}
				assert.Equal(t, high, holder(t, 3500*time.Millisecond, low, high))
				assert.Equal(t, ends, slices.Contains(l.what(low.self), "GRANT"))
				stopAll(t, low, high)
			})
		})
	}
}

func TestHandoverAllUnfitNothingMovesUntilOneHasRecoveredForAWhile(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		all := append(others[:2:2], h)
		for _, m := range []*member{others[0], others[1], h} {
			m.SetFitness(unfit)
			time.Sleep(10 * time.Millisecond)
		}
		assert.Equal(t, h, holder(t, 14*time.Second, all...))
		others[0].SetFitness(election.Fitness{})
		assert.Equal(t, h, holder(t, 4900*time.Millisecond, all...))
		assert.Equal(t, others[0], holder(t, 200*time.Millisecond, all...))
		stopAll(t, all...)
	})
}

func TestHandoverGrantThatLeadsToNothingIsTakenBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk = true
		a, b := l.start(t, nodeA, nil), l.start(t, nodeB, nil)
		h := holder(t, 2*time.Second, a, b)
		other := map[*member]*member{a: b, b: a}[h]
		other.setRefuse(true)
		l.mark()
		h.SetFitness(unfit)
		assert.Equal(t, h, holder(t, 500*time.Millisecond, a, b))
		assert.Equal(t, []string{"quiet", "GRANT"}, l.what(h.self)[:2])
		stopAll(t, a, b)
	})
}

// Nothing is granted that could only come too late: the holder goes on, and is asked again.
func TestHandoverHostThatIsBusyIsAskedAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		h.mu.Lock()
		h.busy = 2
		h.mu.Unlock()
		h.SetFitness(unfit)
		next := holder(t, 100*time.Millisecond, append(others, h)...)
		assert.NotEqual(t, h.self, next.self)
		assert.Equal(t, []string{"busy", "busy", "send 1", "quiet", "GRANT", "release"}, l.what(h.self))
		assert.Equal(t, uint64(1), h.Status().Counters.PassedOn)
		assert.Equal(t, uint64(1), h.Status().Counters.Takeovers)
		stopAll(t, append(others, h)...)
	})
}

func TestHandoverStopPassesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		at := time.Now()
		require.NoError(t, h.stop())
		assert.Less(t, time.Since(at), 10*time.Millisecond)
		assert.Equal(t, []string{"quiet", "GRANT", "release"}, l.what(h.self))
		holder(t, 0, others...)
		time.Sleep(time.Second)
		others[0].SetFitness(unfit)
		others[1].SetFitness(unfit)
		time.Sleep(time.Second)
		last := holder(t, time.Second, others...)
		at = time.Now()
		require.NoError(t, last.stop())
		assert.Less(t, time.Since(at), 10*time.Millisecond, "with nobody fit it does not wait")
		what := l.what(last.self)
		assert.Equal(t, []string{"release", "send 0"}, what[len(what)-2:])
		for _, o := range others {
			if o != last {
				require.NoError(t, o.stop())
			}
		}
	})
}

// A node that is told to stop after its GRANT serves until the next node has the address: it is not left to nobody.
func TestHandoverStopAfterTheGrantWaitsForTheTaker(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		l.slow.Store(int64(50 * time.Millisecond)) // what the next node takes to bind
		h.SetFitness(unfit)
		for !slices.Contains(l.what(h.self), "GRANT") {
			time.Sleep(time.Millisecond / 10)
		}
		at := time.Now()
		require.NoError(t, h.stop())
		assert.Less(t, time.Since(at), 100*time.Millisecond)
		next := holder(t, 0, others...)
		l.mu.Lock()
		order := slices.DeleteFunc(slices.Clone(l.log), func(e entry) bool { return e.what != "bind" && e.what != "release" })
		l.mu.Unlock()
		require.Len(t, order, 2)
		assert.Equal(t, []string{"bind", "release"}, []string{order[0].what, order[1].what})
		assert.Equal(t, []netip.Addr{next.self, h.self}, []netip.Addr{order[0].node, order[1].node})
		stopAll(t, others...)
	})
}

// What nobody takes keeps nobody from stopping.
func TestHandoverStopAfterAGrantThatLeadsToNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		for _, o := range others {
			o.setRefuse(true)
		}
		h.SetFitness(unfit)
		for !slices.Contains(l.what(h.self), "GRANT") {
			time.Sleep(time.Millisecond / 10)
		}
		at := time.Now()
		require.NoError(t, h.stop())
		assert.LessOrEqual(t, time.Since(at), departTime)
		assert.False(t, h.holds())
		stopAll(t, others...)
	})
}

// A holder whose link is gone has nobody to pass the address on to. If it waited, it would be Active when the link comes back,
// beside the node that has taken over.
func TestHandoverStopWithoutLinkGivesTheAddressUpAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		l.isolate(h.self, true)
		at := time.Now()
		h.cancel(election.ErrCutOff)
		require.NoError(t, <-h.ended)
		assert.Zero(t, time.Since(at))
		assert.Equal(t, []string{"release", "send 0"}, l.what(h.self))
		holder(t, time.Second, others...)
		stopAll(t, others...)
	})
}

func TestHandover(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		all := append(others[:2:2], h)
		vrrpOf := func(m *member) *Elector { return m.Elector.(*Elector) }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		require.ErrorIs(t, vrrpOf(others[0]).Handover(ctx, ""), election.ErrNotActive)
		require.ErrorIs(t, vrrpOf(h).Handover(ctx, "nobody"), election.ErrNoTaker)
		require.NoError(t, vrrpOf(h).Handover(ctx, "node-"+others[0].self.String()))
		assert.Equal(t, others[0], holder(t, 0, all...))
		require.NoError(t, vrrpOf(others[0]).Handover(ctx, others[1].self.String()))
		assert.Equal(t, others[1], holder(t, 0, all...))
		assert.Equal(t, election.Fitness{}, others[1].Status().Fitness)
		require.NoError(t, vrrpOf(others[1]).Handover(ctx, ""))
		next := holder(t, 10*time.Second, all...)
		assert.NotEqual(t, others[1], next)
		for _, m := range all {
			if m != next {
				m.SetFitness(unfit)
			}
		}
		time.Sleep(time.Second)
		at := time.Now()
		require.ErrorIs(t, vrrpOf(next).Handover(ctx, ""), election.ErrNoTaker)
		assert.Less(t, time.Since(at), 3*time.Second)
		assert.Equal(t, next, holder(t, time.Second, all...))
		stopAll(t, all...)
	})
}

// causes are what a member was told about why the address moves, since it has become another's or this one's.
func causes(m *member) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, d := range m.decisions {
		if d.Cause != "" {
			out = append(out, d.Cause)
		}
	}
	return out
}

func TestHandoverSaysOnEveryNodeWhoAsked(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		all := append(others[:2:2], h)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, h.Elector.(*Elector).Handover(ctx, others[0].self.String()))
		assert.Equal(t, others[0], holder(t, 0, all...))
		time.Sleep(time.Second)
		for _, m := range all {
			assert.Equal(t, []string{"node-" + h.self.String() + ": uid 0 asked for a handover to " + others[0].self.String()}, slices.Compact(causes(m)), m.self)
		}
		stopAll(t, all...)
	})
}

func TestHandoverThatNobodyAnswersTimesOut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		for _, o := range others {
			o.SetProbe(func(context.Context) election.Fitness { return unfit })
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.ErrorIs(t, h.Elector.(*Elector).Handover(ctx, ""), election.ErrTimeout)
		assert.Equal(t, h, holder(t, time.Second, append(others, h)...))
		assert.NotContains(t, l.what(h.self), "GRANT")
		assert.Equal(t, election.Fitness{}, h.Status().Fitness)
		stopAll(t, append(others, h)...)
	})
}

// A later command for the same address waits for the end of one that is abandoned.
func TestHandoverThatIsAbandonedEndsAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		for _, o := range others {
			o.SetProbe(func(context.Context) election.Fitness { return unfit })
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		time.AfterFunc(200*time.Millisecond, cancel)
		at := time.Now()
		require.ErrorIs(t, h.Elector.(*Elector).Handover(ctx, ""), election.ErrTimeout)
		assert.Equal(t, 200*time.Millisecond, time.Since(at))
		assert.Equal(t, election.Fitness{}, h.Status().Fitness)
		assert.Equal(t, uint8(100), h.Status().Priority)
		assert.Equal(t, h, holder(t, time.Second, append(others, h)...))
		for _, o := range others {
			o.SetProbe(nil)
		}
		require.NoError(t, h.Elector.(*Elector).Handover(t.Context(), ""))
		stopAll(t, append(others, h)...)
	})
}

// What nobody takes is not handed over.
func TestHandoverThatLeadsToNothingIsNoSuccess(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		for _, o := range others {
			o.setRefuse(true)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		at := time.Now()
		require.ErrorIs(t, h.Elector.(*Elector).Handover(ctx, ""), election.ErrTimeout)
		assert.Equal(t, 3*time.Second, time.Since(at))
		assert.NotZero(t, h.Status().Counters.PassedOn)
		assert.Equal(t, h, holder(t, 2*time.Second, append(others, h)...))
		stopAll(t, append(others, h)...)
	})
}

func TestHandoverWithoutMembers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		m := l.start(t, nodeA, nil)
		holder(t, time.Second, m)
		assert.ErrorIs(t, m.Elector.(*Elector).Handover(t.Context(), ""), election.ErrNoTaker)
		stopAll(t, m)
	})
}

// Without the members' port the holder asks by priority 1, which is all that plain VRRP has.
func TestHandoverWithoutMembersIsAPriorityOfOne(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		all := append(others[:2:2], h)
		require.ErrorIs(t, others[0].Elector.(*Elector).Handover(t.Context(), ""), election.ErrNotActive)
		require.ErrorIs(t, others[0].Elector.(*Elector).Handover(t.Context(), "node-c"), election.ErrNotActive)
		err := h.Elector.(*Elector).Handover(t.Context(), others[0].self.String())
		require.ErrorIs(t, err, election.ErrNoTaker)
		require.ErrorContains(t, err, "the port for members is switched off", "nobody can be asked by name")

		at := time.Now()
		require.NoError(t, h.Elector.(*Elector).Handover(t.Context(), ""))
		assert.Less(t, time.Since(at), 5*interval)
		next := holder(t, 0, all...)
		assert.NotEqual(t, h, next)
		assert.Equal(t, election.Fitness{}, h.Status().Fitness)
		assert.Equal(t, uint8(100), h.Status().Priority)
		assert.Equal(t, next, holder(t, 10*time.Second, all...), "equals do not take it back")
		assert.Equal(t, uint64(2), h.Status().Counters.Takeovers+next.Status().Counters.Takeovers, "it moved once")
		stopAll(t, all...)
	})
}

// A Backup that does not preempt follows every advertisement: the address stays, and so it is said.
func TestHandoverWithoutMembersNorPreemptMovesNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l, func(c *vrrp.Config) { c.Preempt = false })
		all := append(others[:2:2], h)
		at := time.Now()
		require.ErrorIs(t, h.Elector.(*Elector).Handover(t.Context(), ""), election.ErrNoTaker)
		assert.Less(t, time.Since(at), 2*time.Second)
		assert.Equal(t, uint8(100), h.Status().Priority, "it is as fit as before")
		assert.Equal(t, h, holder(t, time.Second, all...))

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(interval, cancel)
		at = time.Now()
		require.ErrorIs(t, h.Elector.(*Elector).Handover(ctx, ""), election.ErrNoTaker, "it is abandoned")
		assert.Equal(t, interval, time.Since(at))
		assert.Equal(t, uint8(100), h.Status().Priority)
		stopAll(t, all...)
	})
}

// Whoever waits for a handover hears of the end, and a node that stops resigns as ever.
func TestHandoverWithoutMembersEndsWithTheElection(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l, func(c *vrrp.Config) { c.Preempt = false })
		done := make(chan error, 1)
		go func() { done <- h.Elector.(*Elector).Handover(t.Context(), "") }()
		time.Sleep(2 * interval)
		require.NoError(t, h.stop())
		require.ErrorIs(t, <-done, errStopped)
		what := l.what(h.self)
		assert.Equal(t, []string{"release", "send 0"}, what[len(what)-2:])
		holder(t, 2*interval, others...)
		stopAll(t, others...)
	})
}

// Between the GRANT and the taker's HELLO the former holder has one thing to do: to wait for it.
func TestHandoverFormerHolderIsNotDisturbed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		l.delay(5 * time.Millisecond) // the advertisement comes long before the HELLO
		h.SetFitness(unfit)
		next := holder(t, 80*time.Millisecond, append(others, h)...)
		h.mu.Lock()
		decisions := slices.Clone(h.decisions)
		h.mu.Unlock()
		stopAll(t, append(others, h)...)
		first := slices.IndexFunc(decisions, func(d election.Decision) bool { return d.Role == election.Serve })
		var roles []election.Role
		for _, d := range decisions[first:] {
			roles = append(roles, d.Role)
		}
		assert.Equal(t, []election.Role{election.Serve, election.Quiet, election.Standby, election.Standby}, roles)
		assert.Equal(t, next.self, decisions[len(decisions)-1].Holder)
	})
}
