package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
	"github.com/keepvip/keepvip/members"
)

// entriesPerBeat is how many entries one beat has looks for: with more of them each is looked at more seldom.
const entriesPerBeat = 25

// outside looks at v, one of so many entries, while another node holds it; nil where no port is known.
func (h *host) outside(v config.VIP, entries int) *instance.Outside {
	at, sure := clientsConnect(v)
	if at == nil {
		return nil
	}
	return &instance.Outside{
		Sure: sure, Beats: 1 + entries/entriesPerBeat,
		Connect: func(ctx context.Context, p instance.Place, holder election.Member) (why string, known bool) {
			return connectAll(at(p, holder), func(a netip.AddrPort) error { return spreadHost{host: h}.Connect(ctx, p, a) })
		},
	}
}

// clientsConnect is where connections of clients arrive at a holder: at the addresses, or, where the load is spread, at the services that it says are
// well. What this host's own programs connect to at a spread address goes straight to the members, so that says nothing of the holder. at is nil where no
// port is known; sure tells that clients connect there in any case.
func clientsConnect(v config.VIP) (at func(p instance.Place, holder election.Member) []netip.AddrPort, sure bool) {
	ports := v.SpreadPorts()
	switch port, sure := v.ListenPort(); {
	case port != 0:
		return func(p instance.Place, _ election.Member) (out []netip.AddrPort) {
			for _, a := range oneOfEach(v.Addresses) {
				out = append(out, netip.AddrPortFrom(p.Scoped(a), port))
			}
			return out
		}, sure
	case len(ports) > 0 && len(v.Spread.Backends) == 0:
		return func(p instance.Place, holder election.Member) []netip.AddrPort { return ownServices(ports, p, holder) }, false
	}
	return nil, false
}

// ownServices are where the holder takes its own share of the connections to the ports: of TCP, where it takes new ones and its check is well.
func ownServices(ports []config.SpreadPort, p instance.Place, holder election.Member) (out []netip.AddrPort) {
	s := holder.Spread
	if s == nil || !s.Fit || s.Weight == 0 {
		return nil
	}
	for _, port := range ports {
		well := slices.ContainsFunc(s.Ports, func(o members.SpreadPort) bool {
			return o.Protocol == unix.IPPROTO_TCP && o.Port == port.Port && o.Healthy
		})
		if !port.TCP() || !well {
			continue
		}
		for _, a := range s.Own(holder.OnLink()) {
			out = append(out, netip.AddrPortFrom(p.Scoped(a), port.Target))
		}
	}
	return out
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

// connectAll says where a connection is refused or not answered; known is false where one could not be tried, and no other failed, and with nothing to try.
func connectAll(all []netip.AddrPort, connect func(netip.AddrPort) error) (why string, known bool) {
	known = len(all) > 0
	for _, at := range all {
		switch err := connect(at); {
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
