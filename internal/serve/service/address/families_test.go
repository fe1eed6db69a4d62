package address

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// oneFamily is a host that refuses addresses of a family.
type oneFamily struct {
	*fakeHost
	refuses func(netip.Addr) bool
}

var errRefused = errors.New("refused")

func (h *oneFamily) Bind(index int, addresses []netip.Prefix, valid time.Duration) error {
	for _, p := range addresses {
		if h.refuses(p.Addr()) {
			return errRefused
		}
	}
	return h.fakeHost.Bind(index, addresses, valid)
}

func TestFamilyThatTheHostRefusesDoesNotKeepTheOtherOneBack(t *testing.T) {
	for name, c := range map[string]struct {
		addresses []netip.Prefix
		refuses   func(netip.Addr) bool
		bound     []netip.Addr
		fails     bool
	}{
		"none":                    {vips, func(netip.Addr) bool { return false }, []netip.Addr{vip4.Addr(), vip6.Addr()}, false},
		"IPv6":                    {vips, netip.Addr.Is6, []netip.Addr{vip4.Addr()}, false},
		"IPv4":                    {vips, netip.Addr.Is4, []netip.Addr{vip6.Addr()}, false},
		"both":                    {vips, netip.Addr.IsValid, nil, true},
		"IPv6, which is all":      {[]netip.Prefix{vip6}, netip.Addr.Is6, nil, true},
		"IPv6, which nobody asks": {[]netip.Prefix{vip4}, netip.Addr.Is6, []netip.Addr{vip4.Addr()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := &oneFamily{newFakeHost(), c.refuses}
			a := newAddresses(&core{cfg: Part{Addresses: c.addresses}, host: h, place: h.place})
			err := a.bind()
			if c.fails {
				assert.ErrorIs(t, err, errRefused)
				return
			}
			assert.NoError(t, err)
			assert.Equal(t, c.bound, a.bindable(), "what is announced")
			var there []netip.Addr
			for _, b := range h.bound {
				there = append(there, b.Prefix.Addr())
			}
			assert.ElementsMatch(t, c.bound, there)
			assert.Equal(t, len(c.bound) < len(c.addresses), a.shown.read().Missing != "")

			h.refuses = func(netip.Addr) bool { return false }
			assert.Equal(t, len(c.bound) < len(c.addresses), a.settle(holdBind), "what was missing is added")
			assert.Empty(t, a.shown.read().Missing)
			assert.Len(t, a.bindable(), len(c.addresses))
		})
	}
}
