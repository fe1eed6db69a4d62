package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/pulse"
	"github.com/keepvip/keepvip/vrrp"
)

// TestGatewayIsFollowed: another one counts within seconds, of two the better route's, and none where there is no route or none can be listed.
func TestGatewayIsFollowed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards what follows
		var routers []netip.Addr
		var refused error
		s := &memberSockets{routers: func(index int, v6 bool) ([]netip.Addr, error) {
			assert.Equal(t, 7, index)
			assert.False(t, v6)
			mu.Lock()
			defer mu.Unlock()
			return routers, refused
		}}
		place := instance.Place{Index: 7, Source: netip.MustParseAddr("10.77.0.11")}
		var told netip.Addr
		g := &gatewayWatch{stop: make(chan struct{})}
		for range 3 { // entries of the place
			g.follow(func() netip.Addr { return s.gatewayAt(place) }, func(a netip.Addr) { told = a })
		}
		for _, step := range []struct {
			routers []string
			refused error
			want    string
		}{
			{nil, nil, ""},
			{[]string{"10.77.0.1", "10.77.0.2"}, nil, "10.77.0.1"},
			{[]string{"fe80::1", "10.77.0.2"}, nil, "10.77.0.2"}, // a next hop of the other family is no host that the echoes can ask
			{nil, errors.New("refused"), ""},
			{[]string{"10.77.0.3"}, nil, "10.77.0.3"},
		} {
			mu.Lock()
			routers, refused = nil, step.refused
			for _, a := range step.routers {
				routers = append(routers, netip.MustParseAddr(a))
			}
			mu.Unlock()
			time.Sleep(routeAge + time.Millisecond)
			synctest.Wait()
			want, _ := netip.ParseAddr(step.want)
			assert.Equal(t, want, told)
		}
		g.end()
	})
}

// TestNobodyGoesByBeatsWhoCannotAskForTheAddress: a node that is found to be gone may be there all the same, so the address is asked for before it is taken.
func TestNobodyGoesByBeatsWhoCannotAskForTheAddress(t *testing.T) {
	fast := func(by virtualrouter.Ears) *virtualrouter.Config {
		cfg := &virtualrouter.Config{Pulse: &pulse.User{}, Ears: by}
		cfg.AsMember.Fast = true
		return cfg
	}
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	cfg := fast(&ears{})
	judged(cfg, nil, log)
	assert.NotNil(t, cfg.Answers)
	assert.Nil(t, cfg.Held, "there are no lines")
	assert.True(t, cfg.AsMember.Fast)
	assert.NotNil(t, cfg.Pulse)
	assert.Empty(t, said.String())

	cfg = fast(nil)
	judged(cfg, nil, log)
	assert.Nil(t, cfg.Answers, "there were no descriptors left for ears")
	assert.False(t, cfg.AsMember.Fast, "the others are told")
	assert.Nil(t, cfg.Pulse)
	assert.Contains(t, said.String(), "code=KV366")
	said.Reset()
	for _, by := range []virtualrouter.Ears{nil, &ears{}} {
		cfg = &virtualrouter.Config{Ears: by}
		judged(cfg, nil, log)
		assert.Nil(t, cfg.Answers)
	}
	assert.Empty(t, said.String(), "it was not wanted")

	cfg = fast(nil)
	cfg.Router = vrrp.Config{
		Version: 3, VRID: 51, Priority: 100, Interval: time.Second, Addresses: []netip.Addr{netip.MustParseAddr("10.77.0.100")}, Source: netip.MustParseAddr("10.77.0.11"),
	}
	_, err := virtualrouter.New(*cfg, nil, log)
	assert.ErrorContains(t, err, "a Pulse without Members")
}
