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

// recover makes this node the only voter, if PrepareRecovery has been called. That may have been long ago, where the disk was full or the process
// ended: so it listens first, and a cluster that has a majority by now is not recovered. The text says what it waits for.
func (b *bootstrap) recover(id raft.ServerID) (waits string, err error) {
	st := b.store
	wanted, err := st.stable.GetUint64(keyRecover)
	if wanted == 0 {
		return "", ignoreNotFound(err)
	}
	if time.Since(b.opened) < listenFor*b.cfg.pace() {
		return "listening for a majority that lives, before the cluster is recovered", nil
	}
	v := b.gossip.view()
	v.self = id
	if v.servers, err = st.servers(); err != nil {
		return "", err
	}
	voters, live := v.without("")
	begun := voters == 1 // an earlier run came as far as that, and was asked when there were others
	switch leader := v.leader(); {
	case begun && leader.IsValid():
		return "", fmt.Errorf("raft: the recovery was not finished, and %s leads by now: stop keepvip here and remove raft in its state directory, to join with an empty store", leader)
	case leader.IsValid():
		b.log.Warn("the raft cluster is not recovered: another node leads by now", "leader", leader.String(), "voters", voters, "live", live)
	case !begun && live > voters/2:
		b.log.Warn("the raft cluster is not recovered: a majority of it lives by now", "voters", voters, "live", live)
	default:
		only := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: id, Address: raft.ServerAddress(b.cfg.Self.String())}}}
		if err := raft.RecoverCluster(b.cfg.library(id), &roster{}, st.logs, st.stable, st.snapshots, b.wire, only); err != nil {
			return "", fmt.Errorf("raft: recover: %w", err)
		}
		st.rewritten()
		b.log.Warn("the raft cluster is recovered: this node is its only voter")
	}
	if err := st.stable.SetUint64(keyRecover, 0); err != nil {
		return "", fmt.Errorf("raft: write the store: %w", err)
	}
	return "", nil
}

func ignoreNotFound(err error) error {
	if err == nil || err.Error() == "not found" { // as both of the library's stores have it
		return nil
	}
	return fmt.Errorf("raft: read the store: %w", err)
}
