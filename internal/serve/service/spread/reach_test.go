package spread

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

// onceSeen is when a service that does not answer is known to do so.
const onceSeen = lookOften + 2*lookTime + tick

// holding has this node hold the address, beside two members.
func holding(b *bench) {
	b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
	b.member(12, true)
	b.member(13, true)
	b.begin()
	time.Sleep(settle + tick)
}

// A member that says that it is fit, and that no packet reaches, gets no new connections: whether it drops or refuses them.
func TestMemberThatIsNotReachedGetsNoNewConnections(t *testing.T) {
	for name, via := range map[string]setup{"direct": spreadOne(), "masquerade": masquerading()} {
		for how, err := range map[string]error{"drops": ErrSilent, "refuses": ErrRefused} {
			t.Run(name+", it "+how, func(t *testing.T) {
				inBubble(t, via, func(t *testing.T, b *bench) {
					holding(b)
					require.Equal(t, map[string]int{"10.77.0.11 fit": 40, "10.77.0.12 fit": 40, "10.77.0.13 fit": 40}, b.shares())
					b.host.connect(13, 6443, err)
					time.Sleep(onceSeen)
					assert.Equal(t, map[string]int{"10.77.0.11 fit": 60, "10.77.0.12 fit": 60, "10.77.0.13 keeps": 0}, b.shares())
					share := b.service.Status().Spread.Tables[0].Shares[2]
					assert.Contains(t, share.Why, "10.77.0.13:6443")
					assert.Equal(t, code.NotReached, share.Code)
					assert.Equal(t, 1, b.log.lines("code=KV360"))
					b.host.connect(13, 6443, nil)
					time.Sleep(onceSeen)
					assert.Equal(t, map[string]int{"10.77.0.11 fit": 40, "10.77.0.12 fit": 40, "10.77.0.13 fit": 40}, b.shares())
				})
			})
		}
	}
}

// What is seen from here decides who serves, never whether anybody does.
func TestMembersOfWhichNoneIsReachedAllCount(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Weight = 0
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.host.connect(12, 6443, ErrSilent)
		b.host.connect(13, 6443, ErrSilent)
		holding(b)
		time.Sleep(onceSeen)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 0, "10.77.0.12 fit": 60, "10.77.0.13 fit": 60}, b.shares())
		assert.Contains(t, b.service.Status().Spread.Tables[0].Shares[1].Why, "nobody is")
		b.host.connect(12, 6443, nil)
		time.Sleep(onceSeen)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 0, "10.77.0.12 fit": 120, "10.77.0.13 keeps": 0}, b.shares(), "the first good look counts")
	})
}

// A look is cheap, a lost packet no failure, and what this host lacks says nothing of a member.
func TestLooksAreFewAndForgiveOneLostPacket(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		holding(b)
		b.host.connect(12, 6443, ErrSilent)
		time.Sleep(lookOften)
		b.host.connect(12, 6443, nil)
		b.host.connect(13, 6443, assert.AnError)
		time.Sleep(10 * time.Second)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 40, "10.77.0.12 fit": 40, "10.77.0.13 fit": 40}, b.shares())
		assert.Zero(t, b.log.lines("KV360"))
		b.onHost(func(h *fakeHost) { clear(h.looks) })
		time.Sleep(10 * time.Second)
		b.onHost(func(h *fakeHost) {
			assert.InDelta(t, 38, h.looks[netip.AddrPortFrom(addr(12), 6443)], 9)
			assert.InDelta(t, 20, h.looks[netip.AddrPortFrom(addr(11), 6443)], 6, "its own")
		})
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1"})
		b.onHost(func(h *fakeHost) { clear(h.looks) })
		time.Sleep(10 * time.Second)
		b.onHost(func(h *fakeHost) {
			assert.InDelta(t, 5, h.looks[netip.AddrPortFrom(addr(12), 6443)], 2, "it receives nothing")
		})
	})
}

func twoPorts(cfg setup) setup {
	cfg.Spread.Ports = []config.SpreadPort{{Protocol: config.ProtocolTCP, Port: 9443, Target: 6443}, {Protocol: config.ProtocolTCP, Port: 9345, Target: 9345}, {Protocol: config.ProtocolUDP, Port: 53, Target: 53}}
	return cfg
}

// A port that fails at a member takes nothing from its other ports: neither where others see it, nor in what the member says of itself.
func TestPortThatFailsTakesNothingFromTheOthers(t *testing.T) {
	inBubble(t, twoPorts(spreadOne()), func(t *testing.T, b *bench) {
		for n := byte(12); n <= 13; n++ {
			s := said(true)
			s.Ports = append(s.Ports, election.SpreadPort{Protocol: 6, Port: 9345, Healthy: true}, election.SpreadPort{Protocol: 17, Port: 53, Healthy: true})
			b.elector.set(election.Member{Address: addr(n), Spread: s, Fit: new(true)})
		}
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
		b.begin()
		b.host.connect(13, 9345, ErrRefused)
		b.host.connect(11, 9345, ErrRefused)
		time.Sleep(settle + onceSeen)
		got := b.service.Status().Spread
		require.Len(t, got.Tables, 2)
		assert.Len(t, got.Tables[0].Ports, 2, "UDP is with the first")
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 40, "10.77.0.12 fit": 40, "10.77.0.13 fit": 40}, shares(got, 0))
		assert.Equal(t, map[string]int{"10.77.0.11 keeps": 0, "10.77.0.12 fit": 120, "10.77.0.13 keeps": 0}, shares(got, 1))
		assert.Contains(t, got.Tables[1].Shares[0].Why, "its own service does not take connections")
		assert.Equal(t, []election.SpreadPort{
			{Protocol: 6, Port: 9443, Healthy: true}, {Protocol: 17, Port: 53, Healthy: true}, {Protocol: 6, Port: 9345},
		}, b.elector.own().Ports)
	})
}

func TestBackendThatFailsOnePortKeepsTheOthers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := asked{}
		cfg := twoPorts(masquerading())
		cfg.backends = []*Backend{a.backend(21, 1), a.backend(22, 1)}
		for i := range cfg.backends {
			cfg.backends[i].Port = 0
		}
		b := newBench(t, cfg)
		b.elector.set(election.Member{Address: addr(11), Self: true, State: election.Active})
		b.begin()
		for n := range a {
			a[n] <- health.Verdict{State: health.Healthy}
		}
		b.host.connect(22, 9345, ErrRefused)
		time.Sleep(settle + onceSeen)
		got := b.service.Status().Spread
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 60, "10.77.0.22 fit": 60}, shares(got, 0))
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 120, "10.77.0.22 keeps": 0}, shares(got, 1))
		b.host.connect(21, 9345, ErrRefused)
		time.Sleep(onceSeen)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 60, "10.77.0.22 fit": 60}, shares(b.service.Status().Spread, 1), "all count")
	})
}

func TestPortsOfOneServiceShareATable(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Ports = []config.SpreadPort{
		{Protocol: config.ProtocolUDP, Port: 53, Target: 53},
		{Protocol: config.ProtocolTCP, Port: 443, Target: 6443},
		{Protocol: config.ProtocolTCP, Port: 6443, Target: 6443},
		{Protocol: config.ProtocolTCP, Port: 9345, Target: 9345},
		{Protocol: config.ProtocolTCP, Port: 5000, Target: 5000, Check: "registry"},
	}
	assert.Equal(t, []string{"api", "api.tcp_9345", "api.registry"}, Tables(cfg.VIP))
}
