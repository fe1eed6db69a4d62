package lab

import (
	"fmt"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Direction of frames as seen from the node.
type Direction int

// Directions of loss.
const (
	Both Direction = iota
	In             // towards the node
	Out            // from the node
)

// Lose makes the switch drop percent of the node's frames that match an
// nftables expression, for example "ip protocol 112", at random. It replaces
// an earlier loss at this node; [Node.LoseNothing] ends it.
//
// The rules are in the switch, so the node's own ruleset stays untouched.
func (n *Node) Lose(match string, percent int, direction Direction) error {
	if percent < 100 {
		match = fmt.Sprintf("%s numgen random mod 100 < %d", match, percent)
	}
	return n.LoseAll(direction, match)
}

// LoseFirst does so with the first frame that matches, of each of the expressions.
func (n *Node) LoseFirst(direction Direction, matches ...string) error {
	for i, match := range matches {
		matches[i] = match + " numgen inc mod 1000000 < 1"
	}
	return n.LoseAll(direction, matches...)
}

// LoseAll does so with all frames that match one of the expressions.
func (n *Node) LoseAll(direction Direction, matches ...string) error {
	rules := ""
	for _, nic := range n.NICs {
		for _, match := range matches {
			if direction != In {
				rules += fmt.Sprintf("iifname %q %s counter drop\n", nic.Port, match)
			}
			if direction != Out {
				rules += fmt.Sprintf("oifname %q %s counter drop\n", nic.Port, match)
			}
		}
	}
	return n.lab.drop("loss-"+n.Label, rules)
}

// drop has the switch go by these rules alone in the table of that name, and do without it where there are none.
func (l *Lab) drop(table, rules string) error {
	script := fmt.Sprintf("table bridge %s\ndelete table bridge %s\n", table, table)
	if rules != "" {
		script += fmt.Sprintf("table bridge %s {\nchain forward {\ntype filter hook forward priority 0;\n%s}\n}\n", table, rules)
	}
	return try.Err(l.Switch.RunInput(script, "nft", "-f", "-"))
}

// LoseVRRP drops percent of protocol 112 over both families.
func (n *Node) LoseVRRP(percent int, direction Direction) error {
	return n.Lose("meta l4proto 112", percent, direction)
}

// LoseNothing ends [Node.Lose].
func (n *Node) LoseNothing() error { return n.lab.drop("loss-"+n.Label, "") }

// Cut is a way on which the switch loses frames: everything that a node sends to another one, broadcasts too. The client
// and the monitor go on reaching both.
type Cut struct {
	From, To *Node
	Percent  int // of the frames, at random; 0 = all
}

// Cut makes the switch lose frames between nodes. It replaces what was cut before; nothing heals all.
func (l *Lab) Cut(cuts ...Cut) error {
	var rules strings.Builder
	for _, c := range cuts {
		random := ""
		if c.Percent > 0 && c.Percent < 100 {
			random = fmt.Sprintf("numgen random mod 100 < %d ", c.Percent)
		}
		for i, nic := range c.From.NICs {
			if i < len(c.To.NICs) {
				fmt.Fprintf(&rules, "iifname %q oifname %q %scounter drop\n", nic.Port, c.To.NICs[i].Port, random)
			}
		}
	}
	return l.drop("cuts", rules.String())
}

// Apart lists the ways between two sides, both there and back.
func Apart(a, b []*Node) []Cut {
	var cuts []Cut
	for _, x := range a {
		for _, y := range b {
			cuts = append(cuts, Cut{From: x, To: y}, Cut{From: y, To: x})
		}
	}
	return cuts
}
