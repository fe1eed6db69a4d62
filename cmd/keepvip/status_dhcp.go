package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

// writeLeases has a line for each lease of a DHCP server that this node keeps.
func writeLeases(b *strings.Builder, v instance.Status, now time.Time) {
	for _, l := range v.Leases {
		word := "dhcp"
		if l.Problem != "" {
			word = "DHCP"
		}
		fmt.Fprintf(b, "  %-9s %s as %s: %s\n", word, l.Address, l.ClientID, leaseText(l, now))
	}
}

func leaseText(l instance.LeaseStatus, now time.Time) string {
	switch {
	case l.Problem != "":
		return coded(l.Problem, l.Code)
	case l.Renewed.IsZero():
		return "asked for, no answer yet"
	}
	text := fmt.Sprintf("leased by %s, renewed %s ago", l.Server, ago(now, l.Renewed))
	if l.Expires.IsZero() {
		return text + ", for ever"
	}
	return text + ", for another " + ago(l.Expires, now)
}
