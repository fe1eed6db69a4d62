package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

// tableFrom is from how many virtual addresses on each is one line.
const tableFrom = 9

// writeTable has a line for each virtual address.
func writeTable(b *strings.Builder, all []instance.Status, now time.Time) {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tADDRESS\tHOLDER\tTHIS NODE\tFOR\tWRONG") // a Builder takes everything
	for _, v := range all {
		address := ""
		if len(v.Addresses) > 0 {
			address = v.Addresses[0].String()
		}
		if more := len(v.Addresses) - 1; more > 0 {
			address += fmt.Sprintf(" and %d", more)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", v.Name, address, holderText(v), v.Observed, ago(now, v.Since), wrongText(v))
	}
	_ = w.Flush()
	b.WriteByte('\n')
	for line := range strings.SplitSeq(strings.TrimSuffix(table.String(), "\n"), "\n") {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString("\n`keepvip status NAME` says more about one of them.\n")
}

// wrongText is what an operator has to look at, in a few words.
func wrongText(v instance.Status) string {
	var out []string
	if len(v.Splits) > 0 {
		out = append(out, "SPLIT")
	}
	if len(v.Conflicts) > 0 || len(newcomersOf(v)) > 0 {
		out = append(out, "CONFLICT")
	}
	if v.Silent {
		out = append(out, "SILENT")
	}
	if v.Blocked != "" {
		out = append(out, v.Blocked)
	}
	if !v.Eligible && v.Observed != instance.ObservedMember {
		out = append(out, fitText(v))
	}
	return strings.Join(out, ", ")
}
