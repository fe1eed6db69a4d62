package daemon

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/fence"
	"github.com/keepvip/keepvip/internal/link"
)

var _ agent.Fence = (*fence.Share)(nil)

// fence gives an instance its fence.
func (b *builder) fence(in *agent.Instance, group func(p agent.Place, lease, valid time.Duration) fence.Group) {
	lease, valid := in.Lease, in.Valid()
	in.Fence = func(p agent.Place, bound bool) (agent.Fence, error) {
		share, err := b.fences.Join(p.Index, p.Name, group(p, lease, valid), bound)
		if err != nil {
			return nil, err // no nil pointer in an interface
		}
		return share, nil
	}
	in.Refence = func(f agent.Fence, p agent.Place, lease time.Duration) error {
		return f.(*fence.Share).Change(group(p, lease, valid))
	}
}

// groupOf is the group of v at p, with the lease of its advertisements.
func groupOf(v config.VIP, p agent.Place, lease, valid time.Duration) fence.Group {
	g := raftGroupOf(v, lease, valid)
	g.Advert = fence.Advert{Source: p.Source, VRID: v.VRRP.ID}
	return g
}

// raftGroupOf is the group of an address without advertisements.
func raftGroupOf(v config.VIP, lease, valid time.Duration) fence.Group {
	g := fence.Group{Lease: lease, Guard: fence.GuardFor(lease, valid)}
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
