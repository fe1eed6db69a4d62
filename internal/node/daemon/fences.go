package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/address"
)

var _ address.Fence = (*fence.Share)(nil)

// fence gives addresses their fence, with what the part has been given otherwise.
func (b *builder) fence(part *address.Part, of func(p instance.Place, lease, valid time.Duration) fence.Group) {
	lease, valid := part.Lease, part.Valid()
	spread := part.Spread
	group := func(p instance.Place, lease, valid time.Duration) fence.Group {
		g := of(p, lease, valid)
		g.Spread = spreadFence(spread, time.Now())
		return g
	}
	part.Fence = func(p instance.Place, bound bool) (address.Fence, error) {
		share, err := b.fences.Join(p.Index, p.Name, group(p, lease, valid), bound)
		if err != nil {
			return nil, err // no nil pointer in an interface
		}
		return share, nil
	}
	part.Refence = func(f address.Fence, p instance.Place, lease time.Duration) error {
		return f.(*fence.Share).Change(group(p, lease, valid))
	}
}

// groupOf is the group of an entry's addresses at p, with the lease of its election.
func groupOf(addresses []netip.Addr, p instance.Place, kept kernelLease, lease, valid time.Duration) fence.Group {
	g := fence.Group{Addresses: addresses, Lease: lease, Guard: fence.GuardFor(lease, valid), Answers: p.Bearer.Index}
	if mac, err := net.ParseMAC(p.Bearer.MAC); err == nil { // none where there is no bearer
		g.MAC = mac
	}
	if kept.advert != nil {
		g.Advert = kept.advert(p)
	}
	return g
}

// spreadFor is for how long packets of spread ports pass the fence from its start on: what an earlier run has begun to translate goes on before
// this one has renewed it.
const spreadFor = 10 * time.Second

// spreadFence is what of a spread the fence has to know at now.
func spreadFence(s *address.Spread, now time.Time) fence.Spread {
	if s == nil || s.Fenced {
		return fence.Spread{}
	}
	return fence.Spread{Ports: s.Ports, Until: now.Add(spreadFor)}
}

// tcpPorts are those of TCP.
func tcpPorts(of []fence.Port) (numbers []uint16) {
	for _, p := range of {
		if p.Protocol == unix.IPPROTO_TCP {
			numbers = append(numbers, p.Number)
		}
	}
	return numbers
}

// removeOldFences takes away what an earlier run has left on links that this one has nothing to do with. The fences of the others are replaced
// when an election begins there.
func removeOldFences(cfg *config.Config, here *seen, log *slog.Logger) {
	used := here.now().linksOf(cfg.Internal())
	gone, err := fence.CleanupExcept(func(index int) bool { return used[index] || len(here.now().leftovers(index)) > 0 })
	for _, table := range gone {
		log.Info("nftables table of an earlier run removed", "table", table)
	}
	if err != nil {
		log.Warn("an nftables table of an earlier run may stay", "error", err)
	}
}

// resetConnections ends the TCP connections whose end here is one of the addresses. What is spread ends at the node's own address, and lives on.
func resetConnections(ctx context.Context, addrs []netip.Addr) (int, error) {
	return link.ResetTCP(ctx, addrs...)
}
