package raft

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/election"
)

// unreached is an entry to whose addresses a node's connections do not come at the holder. It is said, and moves nothing: the holder has a majority, which
// hears it.
type unreached struct {
	Name string `json:"name"` // of the entry
	election.Unreached
}

var errUnreached = errors.New("raft: hello about connections to too many holders, or to one without a valid address or name")

// validateUnreached refuses what a node that is not mistaken does not say.
func validateUnreached(list []unreached) error {
	if len(list) > maxSpread {
		return errUnreached
	}
	for _, u := range list {
		if !plain(u.Holder) || u.Name != nameOf(u.Name) {
			return errUnreached
		}
	}
	return nil
}

// SetUnreached implements election.Visitor.
func (e *Elector) SetUnreached(u election.Unreached) {
	e.own.mu.Lock()
	old := e.apart
	e.apart = u
	e.own.mu.Unlock()
	if old != u {
		e.node.gossip.now()
	}
}

// visited is what this node says of the entry; ok is false for nothing.
func (e *Elector) visited() (u unreached, ok bool) {
	e.own.mu.Lock()
	defer e.own.mu.Unlock()
	return unreached{nameOf(e.name), election.Unreached{Holder: e.apart.Holder.WithZone(""), Never: e.apart.Never}}, e.apart.Holder.IsValid()
}

// unreached are the entries of which this node says so, by name.
func (a *addresses) unreached() (out []unreached) {
	for _, e := range a.electors() {
		if u, ok := e.visited(); ok && len(out) < maxSpread {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b unreached) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// outsiders are the nodes that say that their connections do not come to that holder.
func (e *Elector) outsiders(holder netip.Addr) (out []election.Outsider) {
	if !holder.IsValid() {
		return nil
	}
	if own, ok := e.visited(); ok && own.Holder == holder {
		out = append(out, election.Outsider{Node: e.node.gossip.node(e.node.cfg.Self), Self: true, Never: own.Never})
	}
	for _, m := range e.node.Members() {
		for _, u := range m.said.Unreached {
			if !m.Self && !m.silent && u.Name == nameOf(e.name) && u.Holder == holder {
				out = append(out, election.Outsider{Node: election.Node{Address: m.Address, Name: m.Node}, Never: u.Never})
			}
		}
	}
	return out
}
