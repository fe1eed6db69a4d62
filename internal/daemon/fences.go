package daemon

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/fence"
	"github.com/keepvip/keepvip/internal/instance"
	"github.com/keepvip/keepvip/internal/link"
	"github.com/keepvip/keepvip/internal/service/address"
)

var _ address.Fence = (*fence.Share)(nil)

// fence gives addresses their fence.
func (b *builder) fence(cfg *address.Config, group func(p instance.Place, lease, valid time.Duration) fence.Group) {
	lease, valid := cfg.Lease, cfg.Valid()
	cfg.Fence = func(p instance.Place, bound bool) (address.Fence, error) {
		share, err := b.fences.Join(p.Index, p.Name, group(p, lease, valid), bound)
		if err != nil {
			return nil, err // no nil pointer in an interface
		}
		return share, nil
	}
	cfg.Refence = func(f address.Fence, p instance.Place, lease time.Duration) error {
		return f.(*fence.Share).Change(group(p, lease, valid))
	}
}

// groupOf is the group of v at p, with the lease of its election.
func groupOf(v config.VIP, p instance.Place, kept kernelLease, lease, valid time.Duration) fence.Group {
	g := fence.Group{Lease: lease, Guard: fence.GuardFor(lease, valid)}
	if kept.advert != nil {
		g.Advert = kept.advert(p)
	}
	for _, a := range v.Addresses {
		g.Addresses = append(g.Addresses, a.Addr())
	}
	return g
}

// resetConnections ends the TCP connections of the addresses.
func resetConnections(addrs []netip.Addr) error {
	_, err := link.ResetTCP(addrs...)
	return err
}
