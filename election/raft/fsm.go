package raft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// roster is the replicated state: the addresses that may join beside those that are members already. Who is a member is
// raft's own configuration.
type roster struct {
	mu      sync.Mutex // guards invited
	invited map[netip.Addr]bool
}

var _ raft.FSM = (*roster)(nil)

// command is one entry of the log.
type command struct {
	Invite    netip.Addr `json:"invite,omitzero"`
	Disinvite netip.Addr `json:"disinvite,omitzero"`
}

// maxRoster bounds what is kept: no cluster has as many members. What an entry does to the roster is the same in every release, so it is the leader
// that makes room, by an entry of its own: see spare.
const maxRoster = 64

var errRoster = errors.New("raft: too many invited addresses")

// Apply implements raft.FSM.
func (r *roster) Apply(l *raft.Log) any {
	var c command
	if err := json.Unmarshal(l.Data, &c); err != nil {
		return fmt.Errorf("raft: entry %d: %w", l.Index, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.invited == nil {
		r.invited = map[netip.Addr]bool{}
	}
	if c.Disinvite.IsValid() {
		delete(r.invited, c.Disinvite)
	}
	if c.Invite.IsValid() {
		if len(r.invited) >= maxRoster && !r.invited[c.Invite] {
			return errRoster
		}
		r.invited[c.Invite] = true
	}
	return nil
}

func (r *roster) has(a netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.invited[a]
}

// spare is the address that has to go before another one is invited; the zero Addr for none. Members come first: they are in, and are invited again
// before they are removed as dead, or without their disk. The lowest of the others follows.
func (r *roster) spare(a netip.Addr, members []netip.Addr) netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.invited) < maxRoster || r.invited[a] {
		return netip.Addr{}
	}
	all := slices.SortedFunc(maps.Keys(r.invited), netip.Addr.Compare)
	if i := slices.IndexFunc(all, func(a netip.Addr) bool { return slices.Contains(members, a) }); i >= 0 {
		return all[i]
	}
	return all[0]
}

// Snapshot implements raft.FSM.
func (r *roster) Snapshot() (raft.FSMSnapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return rosterSnapshot(slices.SortedFunc(maps.Keys(r.invited), netip.Addr.Compare)), nil
}

// Restore implements raft.FSM.
func (r *roster) Restore(in io.ReadCloser) error {
	var list rosterSnapshot
	if err := json.NewDecoder(io.LimitReader(in, 1<<20)).Decode(&list); err != nil {
		return errors.Join(fmt.Errorf("raft: snapshot: %w", err), in.Close())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.invited = map[netip.Addr]bool{}
	for _, a := range list {
		r.invited[a] = true
	}
	return in.Close()
}

// rosterSnapshot is the roster as a list.
type rosterSnapshot []netip.Addr

// Persist implements raft.FSMSnapshot.
func (s rosterSnapshot) Persist(sink raft.SnapshotSink) error {
	if err := json.NewEncoder(sink).Encode(s); err != nil {
		return errors.Join(fmt.Errorf("raft: snapshot: %w", err), sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (rosterSnapshot) Release() {}
