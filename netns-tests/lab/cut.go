package lab

import (
	"fmt"
	"strings"
)

// Cut is a way on which the switch loses frames: everything that a node sends to another one, broadcasts too. The client
// and the monitor go on reaching both.
type Cut struct {
	From, To *Node
	Percent  int // of the frames, at random; 0 = all
}

// Cut makes the switch lose frames between nodes. It replaces what was cut before; nothing heals all.
func (l *Lab) Cut(cuts ...Cut) error {
	const table = "cuts"
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
	script := fmt.Sprintf("table bridge %s\ndelete table bridge %s\n", table, table)
	if len(cuts) > 0 {
		script += fmt.Sprintf("table bridge %s {\nchain forward {\ntype filter hook forward priority 0;\n%s}\n}\n", table, &rules)
	}
	_, err := l.Switch.RunInput(script, "nft", "-f", "-")
	return err
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
