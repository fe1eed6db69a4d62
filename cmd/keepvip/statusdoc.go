package main

import (
	"os"

	"github.com/keepvip/keepvip/internal/agent"
)

// statusDoc is what `keepvip status -o json` prints; its names are a contract with scripts.
type statusDoc struct {
	Version string         `json:"version"`
	Node    string         `json:"node"`
	Key     *keyStatus     `json:"key,omitempty"`  // absent without one
	Raft    *raftStatus    `json:"raft,omitempty"` // absent without an election by raft
	VIPs    []agent.Status `json:"vips"`
}

func (d *daemon) status() any {
	node, _ := os.Hostname() // a node without a name is shown without
	return statusDoc{Version: version, Node: node, Key: d.auth.status(), Raft: d.build.rafts.status(), VIPs: d.agent.Status()}
}
