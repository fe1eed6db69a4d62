package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func newSpread() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spread [NAME ...]",
		Short: "Say how connections to the address are spread over the members",
		Long: "Says how new connections to the named virtual addresses, or to all that are spread, are divided among the members: the slots and the share\n" +
			"of each member, its connections as it has counted them last, and why it gets no new ones; and how many followers this node tells who the\n" +
			"members are (-o json: the address of each, and since when). docs/spread.md says how it works.",
		Args: arguments("NAME", 0, anyNumber),
	}
	socket, output := bindSocket(cmd), bindOutput(cmd)
	cmd.ValidArgsFunction = names(socket, vipNames)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		_, status, err := askStatus(cmd.Context(), *socket, names)
		if err != nil {
			return failed(err)
		}
		doc := spreadOf(status)
		return output.print(cmd.OutOrStdout(), kindSpread, doc, func() string { return spreadText(doc) })
	}
	return cmd
}

// spreadDoc is what `keepvip spread -o json` prints.
type spreadDoc struct {
	Node string      `json:"node"` // the name of this node
	VIPs []spreadVIP `json:"vips"`
}

type spreadVIP struct {
	Name      string                 `json:"name"`
	Addresses []netip.Prefix         `json:"addresses"`
	Holder    string                 `json:"holder"`           // its own address; empty while none is heard
	Spread    *instance.SpreadStatus `json:"spread,omitempty"` // as in the status; absent: the holder serves everything
}

func spreadOf(d daemon.Status) spreadDoc {
	out := spreadDoc{Node: d.Node, VIPs: []spreadVIP{}}
	for _, v := range d.VIPs {
		out.VIPs = append(out.VIPs, spreadVIP{Name: v.Name, Addresses: v.Addresses, Holder: v.Holder, Spread: v.Spread})
	}
	return out
}

// spreadText is the same as a person reads it: a table for the ports of each check.
func spreadText(d spreadDoc) string {
	var b strings.Builder
	for i, v := range d.VIPs {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s", v.Name, printable.List(v.Addresses))
		if v.Spread == nil {
			b.WriteString(", not spread: the holder serves everything (spread: direct turns it on)\n")
			continue
		}
		fmt.Fprintf(&b, ", %s; %s; %s\n", viaText(v.Spread), connectionsText(v.Spread), chanceText(v.Spread))
		for _, text := range spreadProblems(v.Spread) {
			fmt.Fprintf(&b, "PROBLEM %s\n", text)
		}
		for _, t := range v.Spread.Tables {
			writeShares(&b, v, t)
		}
	}
	return b.String()
}

func writeShares(b *strings.Builder, v spreadVIP, t instance.SpreadTable) {
	fmt.Fprintf(b, "\n%s: %s\n", portsText(t), tableText(t))
	rows := [][]string{{"MEMBER", "ADDRESS", "SLOTS", "SHARE", "WEIGHT", "CONNECTIONS", "CONDITION"}}
	for _, s := range t.Shares {
		m := memberOf(v.Spread, s.Address)
		condition := s.Condition
		if s.Why != "" {
			condition += ": " + s.Why
		}
		name := cmp.Or(m.Node, "-")
		switch {
		case m.Self && m.Holder:
			name += " (this node, the holder)"
		case m.Self:
			name += " (this node)"
		case m.Holder:
			name += " (the holder)"
		}
		rows = append(rows, []string{
			name, s.Address.String(), fmt.Sprint(s.Slots), fmt.Sprintf("%.1f%%", 100*s.Share), fmt.Sprint(m.Weight), fmt.Sprint(m.Connections), condition,
		})
	}
	alignRows(b, rows)
	if t.Nobody > 0 {
		fmt.Fprintf(b, "%d of %d slots have no owner: the receiver of their packets serves them\n", t.Nobody, t.Slots)
	}
}

func memberOf(s *instance.SpreadStatus, a netip.Addr) instance.SpreadMember {
	i := slices.IndexFunc(s.Members, func(m instance.SpreadMember) bool { return m.Address == a })
	if i < 0 {
		return instance.SpreadMember{}
	}
	return s.Members[i]
}

// portsText is "port 9443 to 6443, 5000 to 5001 of udp".
func portsText(t instance.SpreadTable) string {
	var out []string
	for _, p := range t.Ports {
		out = append(out, p.Text())
	}
	text := "port " + strings.Join(out, ", ")
	if len(out) > 1 {
		text = "ports " + strings.Join(out, ", ")
	}
	if t.Check != "" {
		text += " (check " + t.Check + ")"
	}
	return text
}

// viaText is "direct", or what is left of it.
func viaText(s *instance.SpreadStatus) string {
	if s.Via == instance.SpreadOff {
		return "not spread any more"
	}
	return s.Via
}

// connectionsText is "413 connections; 12 followers", of which the latter are those that this node tells who the members are.
func connectionsText(s *instance.SpreadStatus) string {
	text := printable.Several(int(s.Connections()), "connection")
	if n := len(s.Followers); n > 0 {
		text += "; " + printable.Several(n, "follower")
		if left, known := followersConnections(s); known {
			text += " with " + printable.Several(left, "connection") + " of their own here"
		}
		if s.FollowersFull {
			text += coded(fmt.Sprintf(", all %d places taken", s.FollowerPlaces), code.FollowersFull)
		}
	}
	return text
}

// followersConnections are those of the followers to this node, as far as they say.
func followersConnections(s *instance.SpreadStatus) (n int, known bool) {
	for _, f := range s.Followers {
		if f.Connections != nil {
			n, known = n+int(*f.Connections), true
		}
	}
	return n, known
}

// tableText is "4 of 5 members are fit", or until when what is not spread any more goes on.
func tableText(t instance.SpreadTable) string {
	if !t.Ends.IsZero() {
		return "not spread any more, connections go on until " + t.Ends.Local().Format(time.TimeOnly) + " at most"
	}
	return fmt.Sprintf("%d of %d members are fit", t.Fit, len(t.Shares))
}

// spreadProblems are why connections are not spread as they should be.
func spreadProblems(s *instance.SpreadStatus) (out []string) {
	if s.Problem != "" {
		out = append(out, coded(s.Problem, code.NotSpread))
	}
	var names []string
	for _, m := range s.LeftOut {
		names = append(names, cmp.Or(m.Node, m.Address.String()))
	}
	if len(names) > 0 {
		out = append(out, coded(fmt.Sprintf("%s: no connections, as there is room for %d members", strings.Join(names, ", "), len(s.Members)), code.TooManyMembers))
	}
	if s.TrackingFull != "" {
		out = append(out, coded(s.TrackingFull, code.ConntrackFull))
	}
	return out
}

func chanceText(s *instance.SpreadStatus) string {
	switch {
	case s.Via == instance.SpreadMasquerade:
		return "by way of the holder"
	case s.SecondChance:
		return "second chance on"
	}
	return "second chance off: " + cmp.Or(s.WithoutIt, "not known yet")
}

// writeSpread has a line of the status for each table.
func writeSpread(b *strings.Builder, s *instance.SpreadStatus) {
	if s == nil {
		return
	}
	for _, text := range spreadProblems(s) {
		writeWrong(b, "SPREAD", text, "")
	}
	for _, t := range s.Tables {
		if t.Slots == 0 {
			continue
		}
		if !t.Ends.IsZero() {
			fmt.Fprintf(b, "  spread    %s: %s; %s\n", portsText(t), tableText(t), connectionsText(s))
			continue
		}
		text := spreadLine(s, t)
		if len(s.Tables) > 1 {
			text = portsText(t) + " " + text
		}
		fmt.Fprintf(b, "  spread    %s; %s; %s\n", text, connectionsText(s), chanceText(s))
	}
}

// spreadLine is "over 2 of 3: n1 60, n2 60, n3 0 slots (keeps: drained by an operator)".
func spreadLine(s *instance.SpreadStatus, t instance.SpreadTable) string {
	var out, odd []string
	with := 0
	for _, share := range t.Shares {
		name := cmp.Or(memberOf(s, share.Address).Node, share.Address.String())
		if share.Slots > 0 {
			with++
		}
		out = append(out, fmt.Sprintf("%s %d", name, share.Slots))
		if share.Why != "" {
			odd = append(odd, fmt.Sprintf("%s %s: %s", name, share.Condition, share.Why))
		}
	}
	text := fmt.Sprintf("over %d of %d: %s slots", with, len(t.Shares), strings.Join(out, ", "))
	if len(odd) > 0 {
		text += " (" + strings.Join(odd, "; ") + ")"
	}
	return text
}
