package daemon

import (
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members"
)

const (
	// mostNeighbours is how many of the kernel's neighbours are asked in one round.
	mostNeighbours = 16
	// routersAge is how long the routers of a link are believed: listing the routes of a node may be dear.
	routersAge = time.Minute
)

// earSockets share what listens on a link among the instances there.
type earSockets struct {
	links *link.Handle
	log   *slog.Logger
	all   pool[earsKey, *ears]
}

type earsKey struct {
	index  int
	source netip.Addr
}

// at are the ears of the instances at a place; nil where there can be none, as on a link without Ethernet.
func (s *earSockets) at(p instance.Place) (virtualrouter.Ears, func()) {
	e, release, err := s.all.get(earsKey{p.Index, p.Source}, func() (*ears, error) {
		a, err := arp.OpenEars(&net.Interface{Index: p.Index, Name: p.Name}, p.Source)
		return &ears{arp: a, links: s.links, index: p.Index, v6: p.Source.Is6()}, err
	})
	if err != nil {
		s.log.Warn("no socket to listen to the link: a node that hears nothing does not find out, and keeps the address", "interface", p.Name, "error", err)
		return nil, func() {}
	}
	return e, release
}

// hostOf is an own address of the host of that MAC, of those for which ok says true: as the kernel knows it, or as the host has said when it was asked. A router
// that advertises, and nothing else, is in no neighbour table.
func (s *earSockets) hostOf(p instance.Place, mac string, ok func(netip.Addr) bool) netip.Addr {
	if a := link.HostOf(p.Index, mac, ok); a.IsValid() {
		return a
	}
	if e, open := s.all.peek(earsKey{p.Index, p.Source}); open {
		return e.arp.HostOf(mac, ok)
	}
	return netip.Addr{}
}

// ears are virtualrouter.Ears. What takes the kernel a while is done beside.
type ears struct {
	arp   *arp.Ears
	links *link.Handle
	index int
	v6    bool

	beside  sync.WaitGroup
	mu      sync.Mutex // guards what follows
	busy    bool       // beside
	routers []netip.Addr
	sought  time.Time // when the routers were
	sound   time.Time // the last one of any instance
}

// Ask implements virtualrouter.Ears.
func (e *ears) Ask(q members.Question) {
	e.arp.Ask(q.To, q.Named || q.Wide, members.QuestionGap)
	if !q.Named && !q.Wide {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if q.Named && time.Since(e.sought) < routersAge {
		e.arp.Ask(e.routers, true, members.QuestionGap)
		return
	}
	if e.busy {
		return
	}
	e.busy = true
	e.beside.Go(func() { e.look(q) })
}

// look asks whom the kernel knows: an answer of any of them will do.
func (e *ears) look(q members.Question) {
	routers, _ := e.links.DefaultRouters(e.index, e.v6) // with an error nobody is asked
	var known []netip.Addr
	if q.Wide {
		known, _ = e.links.Neighbours(e.index, e.v6)
		known = known[:min(len(known), mostNeighbours)]
	}
	e.arp.Ask(append(known, routers...), true, members.QuestionGap)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.routers, e.sought, e.busy = routers, time.Now(), false
}

// Heard implements virtualrouter.Ears.
func (e *ears) Heard(dst []virtualrouter.Voice, since time.Time) []virtualrouter.Voice {
	e.mu.Lock()
	routers := e.routers
	e.mu.Unlock()
	e.arp.Heard(since, func(c arp.Claim, at, answered time.Time) {
		if v := (virtualrouter.Voice{From: c.Addr, At: at, Answered: answered}); isHost(c, routers) {
			copy(v.MAC[:], c.MAC)
			dst = append(dst, v)
		}
	})
	return dst
}

// isHost tells whether a claimant is a host by itself. The address of a Virtual Router with its virtual MAC is not: it is on whichever node is the Active,
// and silent together with that. A router of this link is no member, and counts.
func isHost(c arp.Claim, routers []netip.Addr) bool {
	_, virtual := c.VRID()
	return !virtual || slices.Contains(routers, c.Addr)
}

// Sound implements virtualrouter.Ears.
func (e *ears) Sound(own time.Time) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if own.After(e.sound) {
		e.sound = own
	}
	return e.sound
}

// Close ends it.
func (e *ears) Close() error {
	e.beside.Wait()
	return e.arp.Close()
}
