package virtualrouter

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/members"
)

func spreadHere() *election.Spread {
	return &election.Spread{
		Weight: 100, MAC: [6]byte{2, 0, 0, 0, 0, 1}, Other: netip.MustParseAddr("10.77.0.11"), Serves: netip.MustParseAddr("fd77::11"),
		Ports: []election.SpreadPort{{Protocol: 6, Port: 8443, Healthy: true, Connections: 7}},

		Translates: true,
		Left:       []election.Left{{Member: netip.MustParseAddr("10.77.0.19"), Connections: 3}},
	}
}

// heardSpread is what is known after Fit was set by the elector.
func heardSpread() *election.Spread {
	s := spreadHere()
	s.Fit, s.Every = true, interval
	return s
}

// spreading are three of which each hears that the others spread.
func spreading(t *testing.T) (l *lan, h *member, others []*member) {
	t.Helper()
	l, h, others = talking(t)
	for _, m := range append(others, h) {
		m.spreader().SetSpread(spreadHere())
	}
	time.Sleep(time.Second + 30*time.Millisecond) // apart from the HELLOs that are said with each interval
	for _, m := range append(others, h) {
		m.changed()
	}
	return l, h, others
}

func (m *member) spreader() election.Spreader { return m.Elector.(election.Spreader) }

// changed tells whether the elector has said that members are others than before.
func (m *member) changed() bool {
	synctest.Wait()
	select {
	case <-m.spreader().MembersChanged():
		return true
	default:
		return false
	}
}

// seen is a member as m sees it; the zero Member if m does not know it.
func seen(m *member, a netip.Addr) election.Member {
	for _, o := range m.spreader().Members() {
		if o.Address == a {
			return o
		}
	}
	return election.Member{}
}

func TestSpreadLimitsAreTheProtocols(t *testing.T) {
	assert.Equal(t, members.MostSpreadPorts, election.MostSpreadPorts)
}

func TestSpreadIsHeardByAll(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := spreading(t)
		all := append(others, h)
		for _, m := range all {
			list := m.spreader().Members()
			require.Len(t, list, 3)
			assert.Equal(t, m.Status().Members, list)
			for _, o := range list {
				assert.Equal(t, heardSpread(), o.Spread)
			}
		}
		time.Sleep(10 * time.Second)
		for _, m := range all {
			assert.False(t, m.changed(), "nothing has")
		}
		stopAll(t, all...)
	})
}

// What changes is heard at once by those that hold nothing, too, and wakes them.
func TestSpreadChangesAreHeardAtOnce(t *testing.T) {
	fit := election.Fitness{}
	unhealthy := election.Fitness{Less: 254, Reason: "refused"}
	for name, tt := range map[string]struct {
		do   func(*member)
		undo func(*member)
		want func(*testing.T, election.Member)
	}{
		"unhealthy": {
			func(m *member) { m.SetFitness(unhealthy) }, func(m *member) { m.SetFitness(fit) },
			func(t *testing.T, o election.Member) { assert.False(t, o.SaysFit() || o.Spread.Fit) },
		},
		"held": {
			func(m *member) { m.SetFitness(election.Fitness{Out: true, Reason: "held"}) }, func(m *member) { m.SetFitness(fit) },
			func(t *testing.T, o election.Member) { assert.False(t, o.SaysFit() || o.Spread.Fit) },
		},
		"cannot become the holder now": {
			func(m *member) { m.SetFitness(election.Fitness{Wait: true, Reason: "busy"}) }, func(m *member) { m.SetFitness(fit) },
			func(t *testing.T, o election.Member) { assert.True(t, !o.SaysFit() && o.Spread.Fit) },
		},
		"drains connections": {
			func(m *member) { m.Elector.(*Elector).SetDraining(true) }, func(m *member) { m.Elector.(*Elector).SetDraining(false) },
			func(t *testing.T, o election.Member) { assert.True(t, o.Draining) },
		},
		"a port is not served": {
			func(m *member) { s := spreadHere(); s.Ports[0].Healthy = false; m.spreader().SetSpread(s) },
			func(m *member) { m.spreader().SetSpread(spreadHere()) },
			func(t *testing.T, o election.Member) { assert.False(t, o.Spread.Ports[0].Healthy) },
		},
		"no weight": {
			func(m *member) { s := spreadHere(); s.Weight = 0; m.spreader().SetSpread(s) },
			func(m *member) { m.spreader().SetSpread(spreadHere()) },
			func(t *testing.T, o election.Member) { assert.Zero(t, o.Spread.Weight) },
		},
		"spreads no more": {
			func(m *member) { m.spreader().SetSpread(nil) }, func(m *member) { m.spreader().SetSpread(spreadHere()) },
			func(t *testing.T, o election.Member) { assert.Nil(t, o.Spread) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				_, h, others := spreading(t)
				one, other := others[0], others[1]
				for i, do := range []func(*member){tt.do, tt.undo} {
					do(one)
					time.Sleep(2 * time.Millisecond)
					for _, m := range []*member{h, other} {
						assert.True(t, m.changed())
					}
					if i == 0 {
						tt.want(t, seen(other, one.self))
						tt.want(t, seen(h, one.self))
					}
					time.Sleep(time.Second)
				}
				for _, m := range []*member{h, other} {
					assert.Equal(t, heardSpread(), seen(m, one.self).Spread)
					assert.True(t, *seen(m, one.self).Fit)
				}
				stopAll(t, append(others, h)...)
			})
		})
	}
}

// How many connections there are is heard within an interval, and wakes nobody.
func TestSpreadConnectionsAreHeardWithinAnInterval(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := spreading(t)
		s := spreadHere()
		s.Ports[0].Connections = 99
		others[0].spreader().SetSpread(s)
		time.Sleep(interval + 2*time.Millisecond)
		for _, m := range []*member{h, others[1]} {
			assert.Equal(t, uint32(99), seen(m, others[0].self).Spread.Ports[0].Connections)
			assert.False(t, m.changed())
		}
		stopAll(t, append(others, h)...)
	})
}

// Where keepvip alone has died the host goes on with its connections: they are kept for as long as it is remembered.
func TestSpreadOfASilentMemberIsKept(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := spreading(t)
		one, other := others[0], others[1]
		l.isolate(one.self, true)
		time.Sleep(400 * time.Millisecond)
		for _, wait := range []time.Duration{0, time.Second, 5 * time.Minute} {
			time.Sleep(wait)
			for _, m := range []*member{h, other} {
				assert.Equal(t, election.Silent, seen(m, one.self).State)
				assert.Equal(t, heardSpread(), seen(m, one.self).Spread)
				assert.Equal(t, wait == 0, m.changed(), "once")
			}
		}
		l.isolate(one.self, false)
		time.Sleep(interval + 2*time.Millisecond)
		for _, m := range []*member{h, other} {
			assert.NotEqual(t, election.Silent, seen(m, one.self).State)
			assert.True(t, m.changed())
		}
		require.NoError(t, one.stop())
		time.Sleep(2 * time.Millisecond)
		for _, m := range []*member{h, other} {
			assert.Zero(t, seen(m, one.self), "it has said good-bye")
			assert.True(t, m.changed())
		}
		stopAll(t, h, other)
	})
}

// The holder that dies is silent within 0.4 s for those that spread, whoever takes the address.
func TestSpreadOfADeadHolderIsSilentSoon(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := spreading(t)
		l.isolate(h.self, true)
		time.Sleep(400 * time.Millisecond)
		for _, m := range others {
			assert.Equal(t, election.Silent, seen(m, h.self).State)
			assert.Equal(t, heardSpread(), seen(m, h.self).Spread)
			assert.True(t, m.changed())
		}
		stopAll(t, append(others, h)...)
	})
}

// An address that moves on purpose changes nothing for whom new connections go to, at no moment.
func TestSpreadIsFitWhileTheAddressMoves(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := spreading(t)
		done := make(chan error, 1)
		go func() { done <- h.Elector.(*Elector).Handover(context.Background(), "") }()
		for range 200 {
			time.Sleep(time.Millisecond)
			for _, m := range append(others, h) {
				for _, o := range m.spreader().Members() {
					require.Equal(t, heardSpread(), o.Spread)
				}
			}
		}
		require.NoError(t, <-done)
		stopAll(t, append(others, h)...)
	})
}

// A member of an older version, or one that is not to spread, is a member that does not spread; nobody is disturbed by it.
func TestSpreadBesideAMemberThatDoesNot(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		old := others[0]
		for _, m := range []*member{h, others[1]} {
			m.spreader().SetSpread(spreadHere())
		}
		time.Sleep(10 * time.Second)
		for _, m := range append(others, h) {
			assert.Nil(t, seen(m, old.self).Spread)
			assert.NotEqual(t, election.Silent, seen(m, old.self).State)
			assert.True(t, *seen(m, old.self).Fit)
			assert.Equal(t, heardSpread(), seen(m, h.self).Spread)
		}
		assert.False(t, old.changed(), "it is told nothing")
		l.isolate(old.self, true)
		time.Sleep(2 * time.Second)
		assert.NotEqual(t, election.Silent, seen(h, old.self).State, "it says HELLO each second")
		time.Sleep(2 * time.Second)
		assert.Equal(t, election.Silent, seen(h, old.self).State)
		stopAll(t, append(others, h)...)
	})
}

// An elector without the members' protocol has nobody to tell.
func TestSpreadWithoutTheMembersProtocol(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		m := l.start(t, nodeA, nil)
		m.spreader().SetSpread(spreadHere())
		time.Sleep(time.Second)
		assert.Nil(t, seen(m, nodeA).Spread)
		assert.False(t, m.changed())
		stopAll(t, m)
	})
}
