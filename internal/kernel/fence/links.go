package fence

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/base/coalesce"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// Links keeps one fence for each link, which all that join there share. It may be used from several goroutines.
type Links struct {
	leftovers func(index int) []netip.Addr
	watch     *nfttables.Watch

	mu       sync.Mutex // guards what follows
	links    map[int]*onLink
	expected int // groups, on all links
	mark     Mark
}

// onLink is the fence of one link. Changes of it that wait for another one are made as one: see batch.go.
type onLink struct {
	index     int
	leftovers func(index int) []netip.Addr
	watch     *nfttables.Watch
	mark      Mark
	changes   coalesce.Queue[*change]
	ending    atomic.Pointer[linkFence] // open's, for those who only look

	// What follows belongs to who makes a change.
	open    *shared   // nil: there is none
	known   bool      // it had a fence in this run
	lastID  uint32    // that a group got
	refused []*change // of groups, the newest of each, for an address that another group had
}

// shared is a fence that is open, with what those that share it do together.
type shared struct {
	*linkFence
	looks    looks
	ends     leaseEnds
	holds    coalesce.Queue[uint32] // by ID of the group
	standbys coalesce.Queue[uint32] // in the same way
	groups   []Group
	// leftovers were left by an earlier run, and nobody has joined for them yet.
	leftovers []netip.Addr
	unfollow  func() // ends the look after changes of others
}

// leftoverID is the group of the leftovers: they stay silent.
const leftoverID = 1

// guardBeyond is how much longer a guard lasts than the addresses live.
const guardBeyond = 3 * time.Second

// GuardFor is the guard of addresses with that lease and that lifetime on the link. The lifetime is renewed every third of it, a moment before
// the guard is: that of before has to outlast it.
func GuardFor(lease, valid time.Duration) time.Duration {
	return max(valid, lease) + max(guardBeyond, valid/3+guardBeyond/2)
}

// NewLinks has no fence yet. leftovers lists the addresses that an earlier run has left on the link of that index: those for which nobody
// has joined stay silent. It may be called from several goroutines. The watch tells of what others do to the tables; without one, only Verify looks.
func NewLinks(leftovers func(index int) []netip.Addr, watch *nfttables.Watch) *Links {
	return &Links{leftovers: leftovers, watch: watch, links: map[int]*onLink{}}
}

// Join puts up the fence of a group on the link of that index and name, and the whole fence when it is the first there. With bound the
// addresses are on the link already, and stay silent until the lease begins. The group's ID is not the caller's choice here.
func (l *Links) Join(index int, name string, g Group, bound bool) (*Share, error) {
	g.ID = 0
	c := &change{name: name, group: g, bound: bound}
	if err := l.on(index).do(c); err != nil {
		return nil, err
	}
	return c.share, nil
}

func (l *Links) on(index int) *onLink {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.links[index] == nil {
		o := &onLink{index: index, leftovers: l.leftovers, watch: l.watch, mark: l.mark, lastID: leftoverID}
		o.changes.Collect = o.collector(l.expected)
		l.links[index] = o
	}
	return l.links[index]
}

// with adds the group of the leftovers, as long as there are any.
func (s *shared) with(groups []Group) []Group {
	if len(s.leftovers) == 0 {
		return groups
	}
	return append(slices.Clone(groups), Group{
		ID: leftoverID, Addresses: s.leftovers, Lease: time.Millisecond, Guard: 2 * guardBeyond,
	})
}
