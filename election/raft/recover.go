package raft

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

var keyRecover = []byte("keepvip recover")

// PrepareRecovery makes this node begin as the only voter of its cluster when it is opened next. The error says why not: a
// majority that lives needs no recovery, and would be a second cluster beside the recovered one.
func (n *Node) PrepareRecovery() error {
	v := n.gossip.view()
	voters, live := v.without("")
	switch leader := v.leader(); {
	case !n.cluster.started():
		return errors.New("this node is in no cluster yet: there is nothing to recover")
	case n.cfg.witness(n.cfg.Self):
		return errors.New("this node is a witness: recover on one that can hold the addresses")
	case !n.cluster.voice():
		return errors.New("this node has no vote: recover on one that has")
	case leader.IsValid():
		return fmt.Errorf("%s leads: the cluster has a majority, use keepvip member remove", leader)
	case live > voters/2:
		return fmt.Errorf("%d of %d voters live: the cluster has a majority, use keepvip member remove", live, voters)
	}
	if err := n.store.stable.SetUint64(keyRecover, 1); err != nil {
		return fmt.Errorf("raft: write the store: %w", err)
	}
	return nil
}

// recover makes this node the only voter, if PrepareRecovery has been called.
func (b *bootstrap) recover(id raft.ServerID) error {
	st := b.store
	wanted, err := st.stable.GetUint64(keyRecover)
	if wanted == 0 {
		return ignoreNotFound(err)
	}
	only := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: id, Address: raft.ServerAddress(b.cfg.Self.String())}}}
	if err := raft.RecoverCluster(b.cfg.library(id), &roster{}, st.logs, st.stable, st.snapshots, b.wire, only); err != nil {
		return fmt.Errorf("raft: recover: %w", err)
	}
	b.log.Warn("the raft cluster is recovered: this node is its only voter")
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
