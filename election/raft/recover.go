package raft

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

var keyRecover = []byte("keepvip recover")

// PrepareRecovery makes this node begin as the only voter of its cluster when it is opened next. The error says why not: a
// majority that lives needs no recovery, and would be a second cluster beside the recovered one.
func (n *Node) PrepareRecovery() error {
	switch {
	case n.raft.Load() == nil:
		return errors.New("this node is in no cluster yet: there is nothing to recover")
	case n.cfg.witness(n.cfg.Self):
		return errors.New("this node is a witness: recover on one that can hold the addresses")
	case !n.voice():
		return errors.New("this node has no vote: recover on one that has")
	}
	servers, now := n.servers(), time.Now()
	n.mu.Lock()
	voters, live := n.without(servers, "", now)
	var leader string
	for a, h := range n.heard {
		if h.State == raft.Leader.String() && h.fresh(now, n.pace()) {
			leader = a.String()
		}
	}
	n.mu.Unlock()
	switch {
	case leader != "":
		return fmt.Errorf("%s leads: the cluster has a majority, use keepvip member remove", leader)
	case live > voters/2:
		return fmt.Errorf("%d of %d voters live: the cluster has a majority, use keepvip member remove", live, voters)
	}
	if err := n.plumbing.store.stable.SetUint64(keyRecover, 1); err != nil {
		return fmt.Errorf("raft: write the store: %w", err)
	}
	return nil
}

// recover makes this node the only voter, if PrepareRecovery has been called.
func (n *Node) recover(id raft.ServerID) error {
	st := n.plumbing.store
	wanted, err := st.stable.GetUint64(keyRecover)
	if wanted == 0 {
		return ignoreNotFound(err)
	}
	only := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: id, Address: raft.ServerAddress(n.cfg.Self.String())}}}
	if err := raft.RecoverCluster(n.raftConfig(id), &roster{}, st.logs, st.stable, st.snapshots, n.plumbing.wire, only); err != nil {
		return fmt.Errorf("raft: recover: %w", err)
	}
	n.log.Warn("the raft cluster is recovered: this node is its only voter")
	if err := st.stable.SetUint64(keyRecover, 0); err != nil {
		return fmt.Errorf("raft: write the store: %w", err)
	}
	return nil
}

func ignoreNotFound(err error) error {
	if err == nil || err.Error() == "not found" { // as both of the library's stores have it
		return nil
	}
	return fmt.Errorf("raft: read the store: %w", err)
}
