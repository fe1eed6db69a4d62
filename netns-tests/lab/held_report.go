package lab

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// HeldReport is what became of the connections that a client held.
type HeldReport struct {
	Client string         `json:"client"`
	Target netip.AddrPort `json:"target"`
	Conns  []HeldConn     `json:"conns"`
}

// Of are the connections that were served by one of the nodes.
func (r HeldReport) Of(nodes ...*Node) HeldReport {
	r.Conns = where(r.Conns, func(c HeldConn) bool { return c.of(nodes) })
	return r
}

// Without are the connections that no one of the nodes served.
func (r HeldReport) Without(nodes ...*Node) HeldReport {
	r.Conns = where(r.Conns, func(c HeldConn) bool { return !c.of(nodes) })
	return r
}

func (c HeldConn) of(nodes []*Node) bool {
	return slices.ContainsFunc(nodes, func(n *Node) bool { return n.Label == c.Node })
}

// Lost is how many were lost.
func (r HeldReport) Lost() int {
	return len(where(r.Conns, func(c HeldConn) bool { return c.Lost > 0 }))
}

// Longest is the connection with the longest stall among those that live.
func (r HeldReport) Longest() (longest HeldConn) {
	for _, c := range r.Conns {
		if c.Lost == 0 && c.Stall > longest.Stall {
			longest = c
		}
	}
	return longest
}

// ByNode is how many connections each node served.
func (r HeldReport) ByNode() map[string]int {
	by := map[string]int{}
	for _, c := range r.Conns {
		by[c.Node]++
	}
	return by
}

// Disguised is how many connections came to the server from another address than the client's own.
func (r HeldReport) Disguised() int {
	return len(where(r.Conns, func(c HeldConn) bool { return c.Node != "" && c.Own != c.Seen }))
}

// Failures says how connections were lost, and which node served them.
func (r HeldReport) Failures() string {
	by := map[string]int{}
	for _, c := range r.Conns {
		if c.Lost > 0 {
			by[strings.TrimSpace(c.Node+" "+c.How)]++
		}
	}
	return counts(by)
}

// counts writes how often each was seen, in the order of their names.
func counts(by map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%s: %d", k, by[k]))
	}
	return strings.Join(parts, ", ")
}
