package main

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/election/raft"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// raftText is how the election stands in one line, below a loud one when the majority is lost; empty before this node is in the cluster.
func raftText(s *daemon.RaftStatus, now time.Time) string {
	if s == nil || s.Voters == 0 {
		return ""
	}
	out := fmt.Sprintf("raft term %d, ", s.Term)
	switch {
	case s.Leader.IsValid():
		out += "leader " + named(s.LeaderNode, s.Leader)
	case s.Leaderless != nil:
		out += "no leader for " + ago(now, *s.Leaderless)
	default:
		out += "no leader"
	}
	out += fmt.Sprintf(", %d of %d voters heard", s.VotersHeard, s.Voters)
	if !s.Majority {
		out = fmt.Sprintf("NO QUORUM: %d of %d voters heard, want %d: no node can hold an address elected by raft [%s]\n", s.VotersHeard, s.Voters, s.Voters/2+1, code.NoQuorum) + out
	}
	return out + "\n"
}

// named is a node as a person knows it: "cp-1 10.0.0.11", or the address alone where no name is known.
func named(node string, a netip.Addr) string {
	if node == "" {
		return a.String()
	}
	return node + " " + a.String()
}

func newMemberRecover() *cobra.Command {
	return membering(&cobra.Command{
		Use:   "recover",
		Short: "Begin the cluster anew with this node alone, when its majority is lost for good",
		Long: "Makes this node the only voter of the cluster, so that it can lead again. It is refused while a majority lives.\n" +
			"The others must not come back with what they have stored: remove raft/ in their stateDir before they are started,\n" +
			"then let them join by `keepvip member add`.",
		Args: noArguments,
	}, func(ctx context.Context, c *control.Client, _ []string) error {
		return c.Member(ctx, daemon.OpRecover, "")
	})
}

func newMember() *cobra.Command {
	return group(&cobra.Command{Use: "member", Short: "List, add or remove the members of the raft cluster, or recover it"},
		newMemberList(),
		newMemberChange(raft.OpAdd, "Let a node join: it gets a vote when it has caught up",
			"Lets the node with that address join the cluster. It may be started before or after; it gets a vote when it has caught up."),
		newMemberChange(raft.OpRemove, "Remove a node from the cluster",
			"Removes the node with that address. It is refused when no majority of those that are left lives."),
		newMemberRecover())
}

func newMemberList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the members as this node sees them", Args: noArguments}
	socket, output := bindSocket(cmd), bindOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var doc daemon.Status
		if err := control.NewClient(*socket).Status(cmd.Context(), &doc); err != nil {
			return failed(err)
		}
		if doc.Raft == nil {
			return failed(daemon.ErrNoRaft)
		}
		return output.print(cmd.OutOrStdout(), kindMembers, doc.Raft, func() string { return membersText(doc.Raft.Members, time.Now()) })
	}
	return cmd
}

func membersText(all []raft.Member, now time.Time) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ADDRESS\tNODE\tROLE\tPRIORITY\tHEARD\tNOTE") // a Builder takes everything
	for _, m := range all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", m.Address, cmp.Or(m.Node, "-"), roleOf(m), m.Priority, heardText(m, now), m.Note)
	}
	_ = w.Flush()
	return b.String()
}

func roleOf(m raft.Member) string {
	switch {
	case m.Leader:
		return "leader"
	case m.Waiting:
		return "no member"
	case m.Witness:
		return "witness"
	case m.Voter:
		return "voter"
	}
	return "no vote yet"
}

func heardText(m raft.Member, now time.Time) string {
	switch {
	case m.Self:
		return "this node"
	case m.LastHeard.IsZero():
		return "never"
	}
	return ago(now, m.LastHeard) + " ago"
}

func newMemberChange(op, short, long string) *cobra.Command {
	cmd := &cobra.Command{Use: op + " ADDRESS", Short: short, Long: long, Args: arguments("the ADDRESS of a node", 1, 1)}
	return membering(cmd, func(ctx context.Context, c *control.Client, args []string) error {
		return c.Member(ctx, op, args[0])
	})
}

// membering makes cmd one that asks the running keepvip to change the cluster, and confirms it.
func membering(cmd *cobra.Command, ask func(ctx context.Context, c *control.Client, args []string) error) *cobra.Command {
	socket, output := bindSocket(cmd), bindOutput(cmd)
	cmd.ValidArgsFunction = names(socket, memberAddresses)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		begin := time.Now()
		if err := ask(cmd.Context(), control.NewClient(*socket), args); err != nil {
			return moved(err)
		}
		doc := confirmationDoc{Verb: cmd.Name(), Member: strings.Join(args, ""), Took: time.Since(begin).Seconds(), VIPs: []confirmedVIP{}}
		return output.print(cmd.OutOrStdout(), kindConfirmation, doc, doc.text)
	}
	return cmd
}
