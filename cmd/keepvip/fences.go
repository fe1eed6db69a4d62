package main

import (
	"errors"
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
	mu     sync.Mutex // guards what follows
	open   map[int]*sharedFence
	nextID uint32
}

type sharedFence struct {
	*link.Fence
	groups []link.Group
}

func newFences() *fences { return &fences{open: map[int]*sharedFence{}} }

// guardBeyond is how much longer the guard stands than the addresses live.
const guardBeyond = 3 * time.Second

// join puts a group's fence up at p, and the whole fence when it is the first there.
func (f *fences) join(p agent.Place, g link.Group) (agent.Fence, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.open[p.Index]
	if !ok {
		fence, err := link.OpenFence(link.FenceConfig{Index: p.Index, Name: p.Name})
		if err != nil {
			return nil, err
		}
		s = &sharedFence{Fence: fence}
		f.open[p.Index] = s
	}
	f.nextID++
	g.ID = f.nextID
	next := append(slices.Clone(s.groups), g)
	if err := s.Set(next); err != nil {
		return nil, errors.Join(err, f.drop(p.Index, s))
	}
	s.groups = next
	return &groupFence{all: f, index: p.Index, fence: s, id: g.ID}, nil
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
	return s.Set(s.groups)
}

// groupFence is one instance's share of a fence.
type groupFence struct {
	all   *fences
	index int
	fence *sharedFence
	id    uint32
}

var _ agent.Fence = (*groupFence)(nil)

func (g *groupFence) Hold() error    { return g.fence.Hold(g.id) }
func (g *groupFence) ShutIn() error  { return g.fence.Shut(g.id, link.Discovery|link.In) }
func (g *groupFence) ShutOut() error { return g.fence.Shut(g.id, link.Out) }
func (g *groupFence) Release() error { return g.fence.Release(g.id) }
func (g *groupFence) Check() error   { return g.fence.Check() }
func (g *groupFence) Mend() error    { return g.fence.Rebuild() }
func (g *groupFence) Close() error   { return g.all.leave(g.index, g.fence, g.id) }

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

// resetConnections ends the TCP connections of an address.
func resetConnections(a netip.Addr) error {
	_, err := link.ResetTCP(a)
	return err
}
