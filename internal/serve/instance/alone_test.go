package instance

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// Damping decides who serves: it ends on a node that knows of no other one that does.
func TestDampingEndsWhereNobodyElseServes(t *testing.T) {
	self := election.Member{Address: nodeA, Self: true, Fit: new(true)}
	other := func(change func(*election.Member)) election.Member {
		m := election.Member{Address: nodeB, Fit: new(false), State: election.Backup, Code: code.CheckStatus}
		if change != nil {
			change(&m)
		}
		return m
	}
	for name, tt := range map[string]struct {
		member      election.Member
		good, heard bool
	}{
		"its check fails":               {other(nil), false, true},
		"it is good":                    {other(func(m *election.Member) { m.Fit, m.Code = new(true), "" }), true, true},
		"it is good, beside a balancer": {other(func(m *election.Member) { m.Code = code.NoCandidate }), true, true},
		"it is held":                    {other(func(m *election.Member) { m.Code = code.Held }), false, true},
		"it is silent":                  {other(func(m *election.Member) { m.State, m.Fit = election.Silent, new(true) }), false, false},
		"it holds the address":          {other(func(m *election.Member) { m.Fit, m.State = nil, election.Active }), true, false},
		"it speaks VRRP alone":          {other(func(m *election.Member) { m.Fit = nil }), false, false},
	} {
		good, heard := othersGood([]election.Member{self, tt.member})
		assert.Equal(t, []bool{tt.good, tt.heard}, []bool{good, heard}, name)
	}
}

func TestDampingOfANodeThatHoldsWhateverItsHealthStays(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		i := b.find("apiserver")
		assert.False(t, i.shared.alone(t.Context()), "the holder goes on while all are bad")
		i.shared.change(func(v *view) {
			next := *v.cfg
			next.VIP.Check.WhenAllUnhealthy = config.Release
			v.cfg = &next
		})
		assert.True(t, i.shared.alone(t.Context()))
		(<-b.electors).set(func(s *election.Status) { s.Members = []election.Member{{Address: nodeB, Fit: new(true)}} })
		assert.False(t, i.shared.alone(t.Context()), "another one is good")
	})
}

// A node beside a balancer that hears no other one asks the balancer whether anybody serves, and one that hears others asks nobody.
func TestDampingBesideABalancerGoesByTheOthersOrElseByTheBalancer(t *testing.T) {
	served, asked := false, 0
	var talks *fakeElector
	var talk func() (election.Elector, func(), error)
	change := func(in *Config) {
		external(in, "lb:6443", talk)
		in.Served = func(context.Context) bool { asked++; return served }
	}
	run(t, nil, change, func(t *testing.T, b *bench) {
		i := b.find("apiserver")
		assert.True(t, i.shared.alone(t.Context()))
		served = true
		assert.False(t, i.shared.alone(t.Context()))
	})
	talk = func() (election.Elector, func(), error) {
		talks = newFakeElector()
		return talks, func() {}, nil
	}
	asked = 0
	run(t, nil, change, func(t *testing.T, b *bench) {
		i := b.find("apiserver")
		talks.set(func(s *election.Status) {
			s.Members = []election.Member{{Address: nodeB, Fit: new(false), Code: code.CheckStatus}}
		})
		assert.True(t, i.shared.alone(t.Context()), "nobody else is good")
		talks.set(func(s *election.Status) { s.Members[0].Code = code.NoCandidate })
		assert.False(t, i.shared.alone(t.Context()))
		assert.Zero(t, asked)
		assert.Empty(t, b.Status()[0].Members, "it is no member of an election")
		assert.NoError(t, b.Drain(t.Context(), nil))
		synctest.Wait()
		assert.Equal(t, code.Drained, talks.fitness().Code, "the others are told")
	})
}
