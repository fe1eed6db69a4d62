package daemon

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func hostOf(t *testing.T, own ...string) *host {
	t.Helper()
	h := newHost(nil, slog.New(slog.DiscardHandler))
	h.seen.setVirtual([]netip.Addr{netip.MustParseAddr("10.77.0.100")})
	l := link.Link{Index: 7, Name: "eth7", Up: true}
	for _, a := range own {
		l.Addresses = append(l.Addresses, link.Address{Prefix: netip.MustParsePrefix(a)})
	}
	require.True(t, h.seen.keep([]link.Link{l}, 0))
	return h
}

// tier is an entry with two that may hold the address, of which one serves, too.
func tier() config.VIP {
	a := netip.MustParseAddr
	return config.VIP{
		Name: "apiserver", Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}, Candidates: []netip.Addr{a("10.77.0.11"), a("10.77.0.12")},
		Spread: config.Spread{Via: config.ViaDirect, Members: []netip.Addr{a("10.77.0.12"), a("10.77.0.13")}},
	}
}

func TestCandidatesKnowThemselvesByTheirOwnAddresses(t *testing.T) {
	for name, tt := range map[string]struct {
		own                       []string
		candidate, sends, unknown bool
	}{
		"it may hold, and serves nothing": {own: []string{"10.77.0.11/24"}, candidate: true, sends: true},
		"by any address of its own":       {own: []string{"10.77.0.21/24", "10.77.0.11/32"}, candidate: true, sends: true},
		"it may hold, and serves":         {own: []string{"10.77.0.12/24"}, candidate: true},
		"it serves":                       {own: []string{"10.77.0.13/24"}},
		"not by the virtual address":      {own: []string{"10.77.0.13/24", "10.77.0.100/32"}},
		"it has no address yet":           {unknown: true},
	} {
		h := hostOf(t, tt.own...)
		sends, known := h.seen.now().own.sendsOnly(tier())
		assert.Equal(t, tt.candidate, h.seen.now().own.candidate(tier()), name)
		assert.Equal(t, tt.sends, sends, name)
		assert.Equal(t, !tt.unknown, known, name)
	}
	plain := tier()
	plain.Candidates = nil
	assert.True(t, hostOf(t).seen.now().own.candidate(plain), "without a list every node may")
	sends, known := hostOf(t).seen.now().own.sendsOnly(plain)
	assert.False(t, sends)
	assert.True(t, known)
}

func TestChecksAreNotAskedWhereNothingIsServed(t *testing.T) {
	bad := health.Verdict{State: health.Unhealthy, Reason: "refused"}
	made := instance.Check{
		ID: "made", Verdict: func() health.Verdict { return bad }, Fresh: func(context.Context) health.Verdict { return bad },
		Run: func(ctx context.Context, report func(health.Verdict)) { report(bad); <-ctx.Done() },
	}
	service, router := NamedCheck{kind: config.CheckTCP}, NamedCheck{kind: config.CheckGateway}
	bubble.Test(t, func(t *testing.T) {
		h := hostOf(t)
		c := h.seen.whereServed(tier(), service, made)
		assert.Equal(t, made.ID, h.seen.whereServed(tier(), router, made).ID)
		var got []health.Verdict
		ctx, cancel := context.WithCancel(t.Context())
		go c.Run(ctx, func(v health.Verdict) { got = append(got, v) })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Empty(t, got, "nobody knows yet who this node is")
		require.True(t, h.seen.keep([]link.Link{{Index: 7, Name: "eth7", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}}}}, 0))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, got, 1)
		assert.Equal(t, health.Healthy, got[0].State)
		assert.Equal(t, got[0], c.Verdict())
		assert.Equal(t, got[0], c.Fresh(ctx))
		cancel()
	})
	serving := hostOf(t, "10.77.0.13/24").seen.whereServed(tier(), service, made)
	assert.Equal(t, made.ID, serving.ID)
	assert.Equal(t, bad, serving.Verdict())
	assert.NotEqual(t, made.ID, hostOf(t, "10.77.0.11/24").seen.whereServed(tier(), service, made).ID, "it is another one when the node begins to serve")
	list := []NamedCheck{service, router}
	assert.Len(t, hostOf(t, "10.77.0.13/24").seen.now().own.asked(tier(), list), 2)
	assert.Equal(t, []NamedCheck{router}, hostOf(t, "10.77.0.11/24").seen.now().own.asked(tier(), []NamedCheck{service, router}))
}

func TestReloadRefusesListsWithoutThisNode(t *testing.T) {
	const entry = "vips: [{addresses: [10.77.0.100], check: none, candidates: [10.77.0.13], spread: {via: direct, ports: [{port: 1}], members: [10.77.0.12]}}]\n"
	r := newReloading(t, "vips: [{addresses: [10.77.0.100], check: none}]\n")
	r.write(t, entry)
	_, err := r.reload(t.Context())
	require.EqualError(t, err, "vips[apiserver].spread.members: none of them is this node's on eth7 (10.77.0.11), and none of candidates; want it in one of them, the same lists on all nodes")
	r.write(t, "vips: [{addresses: [10.77.0.100], check: none, candidates: [10.77.0.11], spread: {via: direct, ports: [{port: 1}], members: [10.77.0.12]}}]\n")
	done, err := r.reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"apiserver"}, done.Changed)
	assert.Empty(t, done.Recreated)
}
