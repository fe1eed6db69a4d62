package lab

import (
	"fmt"
	"strings"
)

// Deafen lets nothing arrive at these nodes any more, while what they send arrives everywhere: the switch drops what is for them, as a NIC whose
// receiving side hangs does. It replaces what was deaf before; nothing makes all hear again.
func (l *Lab) Deafen(nodes ...*Node) error {
	const table = "deaf"
	var rules strings.Builder
	for _, n := range nodes {
		for _, nic := range n.NICs {
			fmt.Fprintf(&rules, "oifname %q counter drop\n", nic.Port)
		}
	}
	script := fmt.Sprintf("table bridge %s\ndelete table bridge %s\n", table, table)
	if len(nodes) > 0 {
		script += fmt.Sprintf("table bridge %s {\nchain forward {\ntype filter hook forward priority 0;\n%s}\n}\n", table, &rules)
	}
	_, err := l.Switch.RunInput(script, "nft", "-f", "-")
	return err
}
