package raft

import (
	"github.com/hashicorp/raft"
)

// stableKeys are all that is kept beside the log.
var stableKeys = [][]byte{[]byte("CurrentTerm"), []byte("LastVoteTerm"), []byte("LastVoteCand"), keyID, keyHeartbeat, keyRecover}

// disk is what a host stores, and how it looks after the host has died.
type disk struct {
	*store
	after func() disk
}

// emptyDisk is a new one, in memory, on which every write is safe at once.
func emptyDisk() disk {
	s := raft.NewInmemStore()
	d := disk{store: &store{logs: s, stable: s, snapshots: raft.NewInmemSnapshotStore(), close: func() error { return nil }}}
	d.after = d.copied
	return d
}

// copied is a disk in memory as it is now.
func (d disk) copied() disk {
	out := emptyDisk()
	out.snapshots = d.snapshots
	for _, k := range stableKeys {
		if v, err := d.stable.Get(k); err == nil {
			must(out.stable.Set(k, v))
		}
		if v, err := d.stable.GetUint64(k); err == nil {
			must(out.stable.SetUint64(k, v))
		}
	}
	first, err := d.logs.FirstIndex()
	must(err)
	last, err := d.logs.LastIndex()
	must(err)
	for i := max(first, 1); i <= last; i++ {
		var entry raft.Log
		must(d.logs.GetLog(i, &entry))
		must(out.logs.StoreLog(&entry))
	}
	return out
}

// must is for what cannot fail in memory.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
