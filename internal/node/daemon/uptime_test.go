package daemon

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Of the delay after boot what is left counts, if it is the longer one.
func TestRouterOfDelaysAfterBoot(t *testing.T) {
	v := config.VIP{Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}}
	delay := func(startup, boot time.Duration) time.Duration {
		v.VRRP.StartupDelay, v.VRRP.BootDelay = startup, boot
		return routerOf(v, instance.Place{}).StartupDelay
	}
	assert.Zero(t, delay(0, 0))
	assert.Equal(t, time.Second, delay(time.Second, 0))
	assert.Equal(t, time.Second, delay(time.Second, uptime()/2), "the host has run for longer")
	assert.InDelta(t, time.Minute, delay(time.Second, uptime()+time.Minute), float64(10*time.Second))
}
