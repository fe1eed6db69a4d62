package main

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/link"
)

// fences shares one fence among the instances on the same link.
type fences struct {
	// leftovers lists what an earlier run has left on a link.
	leftovers func(index int) []netip.Addr

	mu     sync.Mutex // guards what follows
	open   map[int]*sharedFence
	known  map[int]bool // links that had a fence in this run
	nextID uint32
}

type sharedFence struct {
	*link.Fence
	checks checks
	groups []link.Group
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

// join puts a group's fence up at p, and the whole fence when it is the first there. With bound the
// group's addresses are there already, and stay silent until the first advertisement.
func (f *fences) join(p agent.Place, g link.Group, bound bool) (agent.Fence, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nextID++
	g.ID = f.nextID
	var held []uint32
	if bound {
		held = append(held, g.ID)
	}
	s, ok := f.open[p.Index]
	if !ok {
		return f.begin(p, g, held)
	}
	before := s.orphans
	s.orphans = without(before, g.Addresses)
	if err := s.Set(s.with(append(slices.Clone(s.groups), g)), held...); err != nil {
		s.orphans = before
		return nil, err
	}
	s.groups = append(s.groups, g)
	return &groupFence{all: f, index: p.Index, fence: s, id: g.ID}, nil
}

// begin opens the fence of a link with its first group.
func (f *fences) begin(p agent.Place, g link.Group, held []uint32) (agent.Fence, error) {
	s := &sharedFence{groups: []link.Group{g}}
	if !f.known[p.Index] {
		s.orphans = without(f.leftovers(p.Index), g.Addresses)
	}
	if len(s.orphans) > 0 {
		held = append(held, orphanID)
	}
	fence, err := link.OpenFence(link.FenceConfig{Index: p.Index, Name: p.Name, Groups: s.with(s.groups), Bound: held})
	if err != nil {
		return nil, err
	}
	s.Fence = fence
	f.open[p.Index], f.known[p.Index] = s, true
	return &groupFence{all: f, index: p.Index, fence: s, id: g.ID}, nil
}

func without(addrs, gone []netip.Addr) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool { return slices.Contains(gone, a) })
}

// with adds the group of the orphans, as long as there are any.
func (s *sharedFence) with(groups []link.Group) []link.Group {
	if len(s.orphans) == 0 {
		return groups
	}
	return append(slices.Clone(groups), link.Group{
		ID: orphanID, Addresses: s.orphans, Lease: time.Millisecond, Guard: 2 * guardBeyond,
	})
}

// drop removes a fence that holds no group. The caller holds the lock.
func (f *fences) drop(index int, s *sharedFence) error {
	if len(s.groups) > 0 {
		return nil
	}
	delete(f.open, index)
	return s.Remove()
}

func (f *fences) leave(index int, s *sharedFence, id uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.groups = slices.DeleteFunc(slices.Clone(s.groups), func(g link.Group) bool { return g.ID == id })
	if len(s.groups) == 0 {
		return f.drop(index, s)
	}
	return s.Set(s.with(s.groups))
}

// groupFence is one instance's share of a fence.
type groupFence struct {
	all   *fences
	index int
	fence *sharedFence
	id    uint32
	broke time.Time // when Check saw it broken
}

var _ agent.Fence = (*groupFence)(nil)

func (g *groupFence) Hold() error    { return g.fence.Hold(g.id) }
func (g *groupFence) Reopen() error  { return g.fence.Reopen(g.id) }
func (g *groupFence) ShutIn() error  { return g.fence.Shut(g.id, link.Discovery|link.In) }
func (g *groupFence) ShutOut() error { return g.fence.Shut(g.id, link.Out) }
func (g *groupFence) Release() error { return g.fence.Release(g.id) }
func (g *groupFence) Renewing() bool { return g.fence.Egress() }
func (g *groupFence) Close() error   { return g.all.leave(g.index, g.fence, g.id) }

func (g *groupFence) ShutDiscovery() error { return g.fence.Shut(g.id, link.Discovery) }

func (g *groupFence) Renew(until time.Time) error { return g.fence.Renew(g.id, until) }

// groupOf is the group of v at p.
func groupOf(v config.VIP, p agent.Place, valid time.Duration) link.Group {
	router := routerOf(v, p)
	lease := election.Lease(router)
	g := link.Group{
		Advert: link.Advert{Source: p.Source, VRID: router.VRID},
		Lease:  lease, Guard: max(valid, lease) + guardBeyond,
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
