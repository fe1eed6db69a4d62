package gather

import (
	"context"
	"net/netip"

	"github.com/keepvip/keepvip/internal/tools/routing"
)

// routingDaemons asks those of this host of the routes to the routed addresses; none: no address is routed, or there is no daemon.
func routingDaemons(ctx context.Context, o Options) []routing.Daemon {
	var routed []netip.Addr
	for _, v := range o.Config.VIPs {
		if v.Routed() {
			routed = append(routed, v.Bare()...)
		}
	}
	return routing.Find(ctx, o.Root, routed[:min(len(routed), most)])
}
