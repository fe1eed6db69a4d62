package main

import (
	"fmt"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// takersText is the line about what happens if the holder dies now, with its label. It is loud when other nodes are known and none could
// take over.
func takersText(t instance.Takers) string {
	label, text, of := "takeover", takersLine(t), code.Code("")
	switch {
	case t.Nodes <= 1 && t.Reason == "":
		return fmt.Sprintf("%-9s no other node is known that could take over", label)
	case takersMissing(t):
		label, of = "NO TAKER", code.NoTaker
	}
	return fmt.Sprintf("%-9s %s", label, coded(text, of))
}

// takersMissing tells that other nodes are known, and that none could take over.
func takersMissing(t instance.Takers) bool {
	return t.Count == 0 && t.Unknown == 0 && (t.Nodes > 1 || t.Reason != "")
}

func takersLine(t instance.Takers) string {
	text := fmt.Sprintf("%d of %d nodes could take over", t.Count, t.Nodes)
	if t.Unknown > 0 {
		text = fmt.Sprintf("%s; of %d that speak VRRP alone nothing is known while they are Backup", text, t.Unknown)
	}
	if t.Reason != "" {
		text += ": " + t.Reason
	}
	return text
}
