package main

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/tools/explain"
	"github.com/keepvip/keepvip/internal/tools/routing"
)

func newExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [NAME ... | CODE ...]",
		Short: "Say why this node is, or is not, the holder, or what a code means",
		Long: "Says why this node is, or is not, the holder of the named virtual addresses, or of all: a chain of\n" +
			"facts with stable codes and remedies.\n\n" +
			"With a code, such as KV302, it says what the code means, where to look, and the remedy. That needs no\n" +
			"running keepvip. docs/troubleshooting.md has all codes.",
		Example: "  keepvip explain\n  keepvip explain KV302",
		Args:    arguments("NAME or CODE", 0, anyNumber),
	}
	socket, output := bindSocket(cmd), bindOutput(cmd)
	cmd.ValidArgsFunction = orCodes(names(socket, vipNames))
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if codes, ok, err := codesOf(names); ok {
			if err != nil {
				return err
			}
			return output.print(cmd.OutOrStdout(), kindCodes, codes, func() string { return codesText(codes) })
		}
		_, doc, err := askStatus(cmd.Context(), *socket, names)
		if err != nil {
			return failed(err)
		}
		now := time.Now()
		why := explanationOf(doc, routing.Find(cmd.Context(), "", routedOf(doc)), now)
		return output.print(cmd.OutOrStdout(), kindExplanation, why, func() string { return explanationText(why, now) })
	}
	return cmd
}

// explanationDoc is what `keepvip explain -o json` prints.
type explanationDoc struct {
	Node string         `json:"node"` // the name of this node
	VIPs []explainedDoc `json:"vips"`
}

type explainedDoc struct {
	Name      string            `json:"name"`
	Addresses []netip.Prefix    `json:"addresses"`
	Observed  instance.Observed `json:"observed"` // what this node is at this moment, as in the status
	Facts     []explain.Fact    `json:"facts"`
}

// routedOf are the addresses that are announced by routes.
func routedOf(d daemon.Status) (out []netip.Addr) {
	for i := range d.VIPs {
		for _, a := range d.VIPs[i].Addresses {
			if d.VIPs[i].Route != nil {
				out = append(out, a.Addr())
			}
		}
	}
	return out
}

// explanationOf is the explanation of a status, with the routing daemons that were found.
func explanationOf(d daemon.Status, found []routing.Daemon, now time.Time) explanationDoc {
	out := explanationDoc{Node: d.Node, VIPs: []explainedDoc{}}
	for i := range d.VIPs {
		v := &d.VIPs[i]
		out.VIPs = append(out.VIPs, explainedDoc{Name: v.Name, Addresses: v.Addresses, Observed: v.Observed, Facts: append(explain.Address(v, d.Node, now), explain.Routers(v, found)...)})
	}
	return out
}

// explanationText is the explanation as a person reads it: a line for each fact, with its code in front and its remedy below.
func explanationText(d explanationDoc, now time.Time) string {
	var b strings.Builder
	for i, v := range d.VIPs {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s, observed here: %s\n", v.Name, printable.List(v.Addresses), v.Observed)
		for _, f := range v.Facts {
			fmt.Fprintf(&b, "  %-6s %s%s\n", f.Code, f.Text, sinceText(f.Since, now))
			if f.Remedy != "" {
				fmt.Fprintf(&b, "         -> %s\n", f.Remedy)
			}
		}
	}
	return b.String()
}

// sinceText is since when a fact is one; empty where that is not known.
func sinceText(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	layout := time.TimeOnly
	if now.Sub(since) > 12*time.Hour {
		layout = time.DateTime
	}
	return fmt.Sprintf(" (since %s, %s ago)", since.In(now.Location()).Format(layout), ago(now, since))
}
