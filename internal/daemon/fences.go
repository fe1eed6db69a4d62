package daemon

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/fence"
	"github.com/keepvip/keepvip/internal/link"
)

// fences shares one fence among the instances on the same link.
type fences struct {
	// leftovers lists what an earlier run has left on a link.
	leftovers func(index int) []netip.Addr

	wishes wishes

	mu     sync.Mutex // guards what follows, and held while a fence is being changed
	open   map[int]*sharedFence
	known  map[int]bool // links that had a fence in this run
	nextID uint32
}

type sharedFence struct {
	*fence.Fence
	checks checks
	holds  gather[uint32] // by ID of the group
	groups []fence.Group
	// orphans were left by an earlier run, and their instance has not joined yet.
	orphans []netip.Addr
}

// orphanID is the group of the orphans: they stay silent.
const orphanID = 1

func newFences(leftovers func(index int) []netip.Addr) *fences {
	return &fences{leftovers: leftovers, open: map[int]*sharedFence{}, known: map[int]bool{}, nextID: orphanID}
}

// guardBeyond is how much longer the guard stands than the addresses live.
const guardBeyond = 3 * time.Second

// with adds the group of the orphans, as long as there are any.
func (s *sharedFence) with(groups []fence.Group) []fence.Group {
	if len(s.orphans) == 0 {
		return groups
	}
	return append(slices.Clone(groups), fence.Group{
		ID: orphanID, Addresses: s.orphans, Lease: time.Millisecond, Guard: 2 * guardBeyond,
	})
}

// groupFence is one instance's share of a fence.
type groupFence struct {
	all     *fences
	index   int
	fence   *sharedFence
	id      uint32
	adverts bool // of ours renew the lease
	// The newest Check.
	broke time.Time // when it was
	sound bool      // the fence was in place, but perhaps for this group's guard
	held  bool      // it looked for the guard
}

var _ agent.Fence = (*groupFence)(nil)

func (g *groupFence) Hold() error    { return g.fence.holds.do(g.id, g.fence.Fence.Hold) }
func (g *groupFence) Reopen() error  { return g.fence.Reopen(g.id) }
func (g *groupFence) ShutIn() error  { return g.fence.Shut(g.id, fence.Discovery|fence.In) }
func (g *groupFence) ShutOut() error { return g.fence.Shut(g.id, fence.Out) }
func (g *groupFence) Release() error { return g.fence.Release(g.id) }
func (g *groupFence) Renewing() bool { return g.adverts && g.fence.Egress() }
func (g *groupFence) Close() error   { return g.all.leave(g) }

// Uncovered implements agent.Fence.
func (g *groupFence) Uncovered() string {
	switch {
	case !g.fence.Egress():
		return "what leaves in the address's name (this kernel has no nftables egress hook, Linux 5.16)"
	case !g.fence.OtherLinks():
		return "ARP on other links of this node (this kernel has no nftables of the arp family, CONFIG_NF_TABLES_ARP)"
	}
	return ""
}

func (g *groupFence) ShutDiscovery() error { return g.fence.Shut(g.id, fence.Discovery) }

func (g *groupFence) Renew(until time.Time) error { return g.fence.Renew(g.id, until) }

// fence gives an instance its fence.
func (b *builder) fence(in *agent.Instance, group func(p agent.Place, lease, valid time.Duration) fence.Group) {
	lease, valid := in.Lease, in.Valid()
	in.Fence = func(p agent.Place, bound bool) (agent.Fence, error) {
		return b.fences.join(p, group(p, lease, valid), bound)
	}
	in.Refence = func(f agent.Fence, p agent.Place, lease time.Duration) error {
		return b.fences.exchange(f.(*groupFence), group(p, lease, valid))
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
	g := fence.Group{Lease: lease, Guard: max(valid, lease) + guardBeyond}
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
