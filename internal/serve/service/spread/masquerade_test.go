package spread

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func (h *fakeHost) Toward(instance.Place, netip.Addr) netip.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.toward
}

func (h *fakeHost) Reach(ctx context.Context, p instance.Place, at netip.AddrPort) error {
	return h.Ask(ctx, p, at.Addr())
}

// Tracked is nearly all that the kernel has room for, where the test says so.
func (h *fakeHost) Tracked() (int, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tracked, 1000
}

func (h *fakeHost) Forwards(_ instance.Place, ipv4 bool) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return map[bool]string{true: "four", false: "six"}[ipv4], !h.still
}

// serve has the host translate so many connections to member 12.
func (b *bench) serve(n int) {
	b.onHost(func(h *fakeHost) { h.served = map[netip.Addr]int{addr(12): n} })
}

func (p *fakePlane) End(members ...netip.Addr) (int, []spreadtables.Client, error) {
	var keeps error
	var clients []spreadtables.Client
	err := p.change(func() {
		if keeps = p.host.keeps; keeps == nil {
			p.ended = append(p.ended, members)
			clients = slices.Clone(p.host.clients)
		}
	})
	return len(clients), clients, errors.Join(err, keeps)
}

func (p *fakePlane) Forget(members ...netip.Addr) error {
	return p.change(func() { p.forgotten = append(p.forgotten, members...) })
}

// keep has the host end no connection, for that reason; nil: it does.
func (h *fakeHost) keep(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keeps = why
}

func masquerading() setup {
	cfg := spreadOne()
	cfg.Spread.Via = config.ViaMasquerade
	return cfg
}

func TestMasqueradeHasTheHolderForward(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.serve(5)
		b.member(12, true)
		b.begin()
		time.Sleep(settle + 6*time.Second)
		p := b.host.plane("api")
		assert.True(t, p.cfg.Masquerade)
		require.Len(t, p.cfg.Members, 2)
		assert.Empty(t, p.cfg.Members[0].Sources, "this node itself")
		assert.Equal(t, []netip.Addr{addr(11)}, p.cfg.Members[1].Sources)
		assert.Equal(t, [][]netip.Addr{nil}, p.ended, "what an earlier run has left")
		s := b.service.Status().Spread
		assert.Equal(t, "masquerade", s.Via)
		assert.Empty(t, s.Problem)
		assert.Empty(t, s.WithoutIt)
		assert.Empty(t, s.TrackingFull)
		b.host.mu.Lock()
		b.host.tracked = 950
		b.host.mu.Unlock()
		assert.Contains(t, b.service.Status().Spread.TrackingFull, "950 connections, of 1000 at most, and drops new ones then: sysctl -w net.netfilter.nf_conntrack_max=2000")
		assert.Equal(t, []uint32{0, 5}, []uint32{s.Members[0].Connections, s.Members[1].Connections})

		b.host.mu.Lock()
		b.host.still = true
		b.host.mu.Unlock()
		time.Sleep(2 * time.Second)
		assert.Empty(t, b.host.plane("api").cfg.Members[1].Sources)
		assert.Contains(t, b.service.Status().Spread.Problem, "does not forward (four is 0)")
		assert.NotNil(t, b.elector.own(), "it serves its share all the same")
	})
}

// TestMasqueradeFollowsOwnAddressesAndRoutes: what this host gave another address as its source would not be answered to it.
func TestMasqueradeFollowsOwnAddressesAndRoutes(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		sources := func() []netip.Addr { return b.host.plane("api").cfg.Members[1].Sources }
		assert.Equal(t, []netip.Addr{addr(11)}, sources())
		b.onHost(func(h *fakeHost) { h.toward = addr(10) })
		b.service.HostChanged(instance.Place{Index: 2, Name: "eth0", Source: addr(11), MAC: "02:00:00:00:00:0b"})
		time.Sleep(2 * interval)
		assert.Equal(t, []netip.Addr{addr(10)}, sources())
	})
}

func TestMasqueradeEndsTheConnectionsToTheDead(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		assert.Empty(t, b.host.plane("api").ended)
		b.host.set(addr(12), false)
		b.elector.remove(addr(12))
		time.Sleep(2 * time.Second)
		assert.Equal(t, [][]netip.Addr{{addr(12)}}, b.host.plane("api").ended, "once")
	})
}

// A holder that was killed has masqueraded connections in its kernel when it is back, also to a member whose keepvip is down meanwhile.
func TestMasqueradeLeavesTheConnectionsToAMemberThatWasNeverHeard(t *testing.T) {
	cfg := masquerading()
	cfg.Spread.Members = []netip.Addr{addr(11), addr(12)}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
		b.host.set(addr(12), true)
		b.begin()
		time.Sleep(settle + time.Minute)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 dead": 0}, b.shares())
		assert.Empty(t, b.host.plane("api").ended)
		b.host.set(addr(12), false)
		time.Sleep(2 * time.Second)
		assert.Equal(t, [][]netip.Addr{{addr(12)}}, b.host.plane("api").ended, "its host does not answer")
	})
}

// TestMasqueradeEndsTheConnectionsToTheDeadOnceTheKernelDoes: until then the status says that it does not.
func TestMasqueradeEndsTheConnectionsToTheDeadOnceTheKernelDoes(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.host.keep(errors.New("the table is full"))
		b.host.set(addr(12), false)
		b.elector.remove(addr(12))
		time.Sleep(2 * time.Second)
		assert.Contains(t, b.service.Status().Spread.Problem, "the table is full")
		b.host.keep(nil)
		time.Sleep(2 * time.Second)
		assert.Equal(t, [][]netip.Addr{{addr(12)}}, b.host.plane("api").ended, "once")
		assert.Empty(t, b.service.Status().Spread.Problem)
	})
}

func TestMasqueradeForgetsWhatAMemberHasResetThatGetsNoConnections(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
		b.member(12, true)
		b.member(13, true)
		b.begin()
		time.Sleep(settle)
		b.member(12, false)
		time.Sleep(2 * time.Second)
		assert.Equal(t, []netip.Addr{addr(12)}, b.host.plane("api").forgotten, "once")
		b.member(12, true)
		time.Sleep(2 * time.Second)
		assert.Len(t, b.host.plane("api").forgotten, 1, "nobody has lost all slots")
	})
}

func TestMasqueradeEndsAllWhenTheAddressLeaves(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
		b.begin()
		time.Sleep(settle)
		for _, role := range []election.Role{election.Standby, election.Serve, election.Serve, election.Quiet} {
			require.NoError(t, b.service.Apply(t.Context(), election.Decision{Role: role}))
			assert.Empty(t, b.host.plane("api").ended, "%v", role)
		}
		require.NoError(t, b.service.Apply(t.Context(), election.Decision{Role: election.Standby}))
		assert.Equal(t, [][]netip.Addr{nil}, b.host.plane("api").ended)
		require.NoError(t, b.service.Apply(t.Context(), election.Decision{Role: election.Off}))
		assert.Len(t, b.host.plane("api").ended, 1)

		require.NoError(t, b.service.Apply(t.Context(), election.Decision{Role: election.Serve}))
		stuck := make(chan struct{})
		b.host.mu.Lock()
		b.host.stuck = stuck
		b.host.mu.Unlock()
		began := time.Now()
		require.NoError(t, b.service.Apply(t.Context(), election.Decision{Role: election.Standby}))
		assert.Equal(t, releaseLimit, time.Since(began), "the election does not wait for a busy kernel")
		close(stuck)
	})
}

// TestMasqueradeTellsClientsAgainOnceTheAddressHasGone: of many connections the last ones are ended while the fence is shut, and what would tell their
// clients does not leave. A service that ends before has told them by then.
func TestMasqueradeTellsClientsAgainOnceTheAddressHasGone(t *testing.T) {
	client := spreadtables.Client{At: netip.MustParseAddrPort("10.77.0.201:40000"), To: netip.MustParseAddrPort("10.77.0.100:9443")}
	gives := func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
		b.begin()
		time.Sleep(settle)
		b.onHost(func(h *fakeHost) { h.clients = []spreadtables.Client{client} })
		require.NoError(t, b.service.Apply(t.Context(), election.Decision{Role: election.Serve}))
		require.NoError(t, b.service.Apply(t.Context(), election.Decision{Role: election.Standby}))
		assert.Empty(t, b.poked(), "they were told with the end")
	}
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		gives(t, b)
		time.Sleep(2 * time.Second)
		assert.Equal(t, slices.Repeat([]spreadtables.Client{client}, len(tellLeftAfter)), b.poked())
		require.NoError(t, b.service.Close())
		assert.Len(t, b.poked(), len(tellLeftAfter))
	})
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		gives(t, b)
		require.NoError(t, b.service.Close())
		assert.Equal(t, []spreadtables.Client{client}, b.poked())
	})
}

// reaching is a Host that notes where it is to connect to.
type reaching struct {
	Host
	at netip.AddrPort
}

func (h *reaching) Reach(_ context.Context, _ instance.Place, at netip.AddrPort) error {
	h.at = at
	return nil
}

// Where the election goes by IPv6 alone a member's address is that of its link. Without a link nobody can connect to it, and a member whose keepvip
// was killed would be dead.
func TestMasqueradeAsksAMemberOnItsLink(t *testing.T) {
	for member, want := range map[string]string{"fe80::12": "[fe80::12%eth0]:6443", "fd77::12": "[fd77::12]:6443", "10.77.0.12": "10.77.0.12:6443"} {
		cfg, host := masquerading(), &reaching{}
		require.NoError(t, entryOf(cfg.VIP).asking(host)(t.Context(), instance.Place{Name: "eth0", Index: 2}, netip.MustParseAddr(member)))
		assert.Equal(t, want, host.at.String())
	}
}
