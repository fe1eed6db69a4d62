package daemon

import (
	"os"

	"github.com/keepvip/keepvip/election/raft"
	"github.com/keepvip/keepvip/internal/node/door"
	"github.com/keepvip/keepvip/internal/node/history"
	"github.com/keepvip/keepvip/internal/node/hook"
	"github.com/keepvip/keepvip/internal/node/reloads"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Status is what `keepvip status -o json` prints; its names are a contract with scripts.
type Status struct {
	Version string          `json:"version"`
	Node    string          `json:"node"`
	Config  *reloads.Status `json:"config,omitempty"`
	Key     *keyStatus      `json:"key,omitempty"`     // absent without one
	Raft    *RaftStatus     `json:"raft,omitempty"`    // absent without an election by raft
	Hooks   *hook.Status    `json:"hooks,omitempty"`   // absent while none has run, without a notify FIFO
	History *history.Status `json:"history,omitempty"` // absent while the file has every transition
	// Listener is absent without follow.onMembers.
	Listener *ListenerStatus `json:"listener,omitempty"`
	// Listeners are those beside the election: the control socket, and those for metrics and for balancers.
	Listeners []door.Status     `json:"listeners,omitempty"`
	VIPs      []instance.Status `json:"vips"`
}

func (d *Daemon) status() any {
	node, _ := os.Hostname() // a node without a name is shown without
	return Status{Version: d.opts.Version, Node: node, Config: d.reloads.Status(), Key: d.keys.status(), Raft: d.build.raft.status(), Hooks: d.hooks.Status(), History: d.past.Status(), Listener: d.listening.status(), Listeners: d.doors.statuses(), VIPs: d.set.Status()}
}

// RaftStatus is the part of status that is about the Raft cluster.
type RaftStatus struct {
	raft.Quorum
	Members []raft.Member `json:"members"`
}

func (r *raftNode) status() *RaftStatus {
	n := r.current()
	if n == nil {
		return nil
	}
	return &RaftStatus{Quorum: n.Quorum(), Members: n.Members()}
}
