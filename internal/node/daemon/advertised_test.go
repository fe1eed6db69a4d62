package daemon

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/vrrp"
)

// TestMostThatIsAdvertisedFitsIntoAFrame: one from the virtual MAC leaves whole, or not at all.
func TestMostThatIsAdvertisedFitsIntoAFrame(t *testing.T) {
	const mtu = 1500
	now := time.Unix(1_700_000_000, 0)
	keyed := vrrp.NewAuth(auth.NewClock(now, nil))
	require.NoError(t, keyed.Set(auth.Config{Keys: []auth.Key{vrrp.NewKey(1, make([]byte, 32))}, Window: time.Minute}))
	for name, tt := range map[string]struct {
		source, group netip.Addr
		version       uint8
		header        int
		address       func(i int) netip.Addr
	}{
		"IPv4": {
			netip.MustParseAddr("10.0.0.11"), vrrp.MulticastGroup(true), 3, 20,
			func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) },
		},
		"IPv4, version 2": {
			netip.MustParseAddr("10.0.0.11"), vrrp.MulticastGroup(true), 2, 20,
			func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) },
		},
		"IPv6": {
			netip.MustParseAddr("fe80::11"), vrrp.MulticastGroup(false), 3, 40,
			func(i int) netip.Addr { return netip.AddrFrom16([16]byte{0: 0xfd, 14: byte(i >> 8), 15: byte(i)}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := config.VIP{Priority: 100, VRRP: config.VRRP{ID: 51, Version: tt.version, AdvertisementInterval: time.Second}}
			for i := range 1000 {
				a := tt.address(i)
				v.Addresses = append(v.Addresses, netip.PrefixFrom(a, a.BitLen()))
			}
			r := routerOf(v, instance.Place{Source: tt.source})
			adv := vrrp.Advertisement{Version: r.Version, VRID: r.VRID, Priority: r.Priority, Interval: r.Interval, Addresses: r.Addresses}
			b, err := keyed.Append(nil, adv, tt.source, tt.group, vrrp.PseudoHeader, now)
			require.NoError(t, err)
			assert.LessOrEqual(t, tt.header+len(b), mtu)
		})
	}
}
