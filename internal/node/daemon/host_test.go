package daemon

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

func TestLinkThatHasChangedIsAnother(t *testing.T) {
	old := link.Link{
		Index: 2, Name: "eth0", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, Up: true, Carriers: 2,
		Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}},
	}
	for name, tt := range map[string]struct {
		change func(l *link.Link)
		same   bool
	}{
		"nothing":                            {func(*link.Link) {}, true},
		"a lifetime":                         {func(l *link.Link) { l.Addresses = []link.Address{{Prefix: l.Addresses[0].Prefix, Valid: 5}} }, true},
		"its name":                           {func(l *link.Link) { l.Name = "lan0" }, false},
		"its MAC":                            {func(l *link.Link) { l.MAC = net.HardwareAddr{2, 0, 0, 0, 0, 2} }, false},
		"its carrier, which is gone":         {func(l *link.Link) { l.Up, l.Carriers = false, 3 }, false},
		"its carrier, gone and back at once": {func(l *link.Link) { l.Carriers = 4 }, false},
		"its addresses":                      {func(l *link.Link) { l.Addresses = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := old
			tt.change(&l)
			assert.Equal(t, tt.same, sameLink(old, l))
		})
	}
}

// What is missing where addresses are elsewhere has the code that it has where the election runs.
func TestPlaceElsewhereHasCodes(t *testing.T) {
	h := newHost(nil, slog.New(slog.DiscardHandler))
	h.seen.keep([]link.Link{
		{Index: 2, Name: "eth0", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}}},
		{Index: 3, Name: "eth1"},
	}, 0)
	v := config.VIP{
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32"), netip.MustParsePrefix("10.78.0.100/32")}, Interface: "eth0",
		Elsewhere: []config.Elsewhere{{Address: netip.MustParseAddr("10.78.0.100"), Interface: "eth1"}},
	}
	_, err := h.seen.places(v)
	assert.Equal(t, code.LinkDown, code.Of(err), err)
	v.Elsewhere[0].Interface = "eth2"
	_, err = h.seen.places(v)
	assert.Equal(t, code.InterfaceMissing, code.Of(err), err)
}

func TestPlaceWithoutItsSourceHasACode(t *testing.T) {
	h := newHost(nil, slog.New(slog.DiscardHandler))
	h.seen.keep([]link.Link{{Index: 2, Name: "eth0", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}}}}, 0)
	v := config.VIP{Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}, Election: config.ElectionVRRP}
	v.VRRP.Source = netip.MustParseAddr("10.77.0.12")
	_, err := h.seen.places(v)
	assert.EqualError(t, err, "eth0 does not have 10.77.0.12 yet, which vrrp.source wants")
	assert.Equal(t, code.NoOwnAddress, code.Of(err))
}
