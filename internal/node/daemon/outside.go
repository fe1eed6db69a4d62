package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
)

// entriesPerBeat is how many entries one beat has looks for: with more of them each is looked at more seldom.
const entriesPerBeat = 25

// outside looks at v, one of so many entries, while another node holds it; nil where no port is known, and where the load is spread: what this host's own
// programs connect to goes straight to the members there.
func (h *host) outside(v config.VIP, entries int) *instance.Outside {
	port, sure := v.ListenPort()
	if port == 0 {
		return nil
	}
	return &instance.Outside{
		Sure: sure, Beats: 1 + entries/entriesPerBeat,
		Connect: func(ctx context.Context, p instance.Place) (why string, known bool) {
			return connectAll(oneOfEach(v.Addresses), func(a netip.Addr) error {
				if a.Is6() && a.IsLinkLocalUnicast() {
					a = a.WithZone(p.Name)
				}
				return spreadHost{h}.Connect(ctx, p, netip.AddrPortFrom(a, port))
			}, port)
		},
	}
}

// oneOfEach are the first addresses of each family.
func oneOfEach(addresses []netip.Prefix) (out []netip.Addr) {
	for _, p := range addresses {
		if a := p.Addr(); len(out) == 0 || len(out) == 1 && out[0].Is4() != a.Is4() {
			out = append(out, a)
		}
	}
	return out
}

// connectAll says at which address a connection is refused or not answered; known is false where one could not be tried, and no other failed.
func connectAll(addresses []netip.Addr, connect func(netip.Addr) error, port uint16) (why string, known bool) {
	known = true
	for _, a := range addresses {
		at := netip.AddrPortFrom(a, port)
		switch err := connect(a); {
		case err == nil:
		case errors.Is(err, spread.ErrRefused):
			return fmt.Sprintf("%s refuses connections", at), true
		case errors.Is(err, spread.ErrSilent):
			return fmt.Sprintf("%s does not answer", at), true
		default:
			known = false
		}
	}
	return "", known
}
