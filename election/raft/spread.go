package raft

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/roundrobin"
)

// maxSpread is of how many virtual addresses a node says how it spreads them; with the most ports each, they fit into maxFrame.
const maxSpread = 32

// spread is how a node spreads one virtual address, or several that move together, known by the first of them.
type spread struct {
	Group netip.Addr `json:"group"`
	election.Spread
}

var errSpread = errors.New("raft: message that spreads what nobody can")

// validateSpread refuses what a node that is not mistaken does not say.
func validateSpread(list []spread) error {
	if len(list) > maxSpread {
		return errSpread
	}
	for i, s := range list {
		twice := slices.ContainsFunc(list[:i], func(o spread) bool { return o.Group == s.Group })
		if twice || !oneHost(s.Group) || !sayable(&s.Spread) || slices.ContainsFunc(s.Clients, func(c election.Client) bool { return !reachable(c) }) {
			return errSpread
		}
	}
	return nil
}

// clientsAtOnce is how many clients of all virtual addresses a message says at most.
const clientsAtOnce = 90

// due are the clients whose turn it is at now, where a message says so much of each virtual address. All messages of a round have the same ones.
func due(all []election.Client, now time.Time, pace time.Duration, most int) []election.Client {
	list := roundrobin.Window(all, most, now.UnixNano()/int64(pace))
	return slices.DeleteFunc(slices.Clone(list), func(c election.Client) bool { return !reachable(c) })
}

// reachable tells whether a packet can be sent to c.
func reachable(c election.Client) bool {
	return oneHost(c.At.Addr()) && c.At.Port() != 0 && c.Port != 0
}

// sayable tells whether another node can use it.
func sayable(s *election.Spread) bool {
	for _, a := range []netip.Addr{s.Address, s.Other, s.Serves} {
		if a != (netip.Addr{}) && !oneHost(a) {
			return false
		}
	}
	return s.Every >= 0 && s.Sound(oneHost)
}

// oneHost tells whether a can be the address of one host.
func oneHost(a netip.Addr) bool {
	return plain(a) && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback()
}

// spreadOf is how the group is spread by who has said this; nil: not at all.
func (m *message) spreadOf(group netip.Addr) *election.Spread {
	for i := range m.Spread {
		if m.Spread[i].Group == group {
			return &m.Spread[i].Spread
		}
	}
	return nil
}

// spreadsAlike tells whether two messages say the same about it but for the connections.
func spreadsAlike(a, b []spread) bool {
	return slices.EqualFunc(a, b, func(a, b spread) bool { return a.Group == b.Group && a.Alike(&b.Spread) })
}

var _ election.Spreader = (*Elector)(nil)

// SetSpread implements election.Spreader. What cannot be said is as if it had not been set.
func (e *Elector) SetSpread(s *election.Spread) {
	if s != nil && !sayable(s) {
		s = nil
	}
	e.own.mu.Lock()
	old := e.spread
	e.spread = s
	e.own.mu.Unlock()
	if old == nil && s != nil {
		e.stirred.Send()
	}
	if !old.Alike(s) {
		e.node.gossip.now()
	}
}

// MembersChanged implements election.Spreader.
func (e *Elector) MembersChanged() <-chan struct{} { return e.stirred }

// Members implements election.Spreader.
func (e *Elector) Members() (out []election.Member) {
	now, own := time.Now(), e.said()
	for _, m := range e.node.Members() {
		out = append(out, m.spreading(e.group, own, now))
	}
	return out
}

// said is how this node spreads, as the others hear of it; nil: not at all.
func (e *Elector) said() *election.Spread {
	e.own.mu.Lock()
	defer e.own.mu.Unlock()
	if e.spread == nil || !e.group.IsValid() {
		return nil
	}
	s, f := *e.spread, e.fitness
	if s.Serves == s.Address {
		s.Serves = netip.Addr{} // members know it by that
	}
	s.Every = e.node.cfg.spreadPace()
	s.Fit = !f.Out && (f.Less <= 0 || effective(e.base, f) > unfitPriority) && !e.node.cluster.leaving.Load()
	return &s
}

// spreading is the member as those see it who spread the group; own is nil for a node that does not. One that spreads is silent sooner.
func (m Member) spreading(group netip.Addr, own *election.Spread, now time.Time) election.Member {
	out := m.shown()
	switch {
	case m.Self:
		out.Spread = own
	case !m.Waiting:
		out.Spread = m.said.spreadOf(group)
	}
	if s := out.Spread; !m.Self && s != nil && own != nil && !m.LastHeard.IsZero() && now.Sub(m.LastHeard) >= freshFor*max(s.Every, own.Every) {
		out.Silence()
		out.Note = ""
	}
	return out
}

// spreads are what this node says of all addresses that it spreads.
func (a *addresses) spreads(now time.Time) (list []spread) {
	for _, e := range a.electors() {
		if s := e.said(); s != nil {
			list = append(list, spread{e.group, *s})
		}
	}
	slices.SortFunc(list, func(a, b spread) int { return a.Group.Compare(b.Group) })
	list = list[:min(len(list), maxSpread)]
	for i := range list {
		s := &list[i]
		s.Clients = due(s.Clients, now, s.Every, clientsAtOnce/len(list))
	}
	return list
}

// spreading tells whether this node spreads any address.
func (a *addresses) spreading() bool {
	return slices.ContainsFunc(a.electors(), func(e *Elector) bool { return e.said() != nil })
}

// stir tells those that spread that members are others than before.
func (a *addresses) stir() {
	for _, e := range a.electors() {
		if e.said() != nil {
			e.stirred.Send()
		}
	}
}

// spreadPace is how often the members tell each other how they are while one of two spreads.
func (c Config) spreadPace() time.Duration {
	return min(c.pace(), max(c.Heartbeat/5, 100*time.Millisecond))
}

// pace is how often this node has a round.
func (g *gossip) pace() time.Duration {
	if g.addresses.spreading() {
		return g.cfg.spreadPace()
	}
	return g.cfg.pace()
}

// stale are the members that those who spread take for silent, in the order of their addresses.
func (g *gossip) stale(now time.Time) (list []netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for a, h := range g.heard {
		if len(h.Spread) > 0 && now.Sub(h.at) >= freshFor*g.cfg.spreadPace() {
			list = append(list, a)
		}
	}
	return sorted(list)
}

// noteStale stirs those that spread when others are silent than before. It belongs to Node.Run.
func (g *gossip) noteStale(now time.Time) {
	if !g.addresses.spreading() {
		return
	}
	if list := g.stale(now); !slices.Equal(list, g.wereStale) {
		g.wereStale = list
		g.addresses.stir()
	}
}
