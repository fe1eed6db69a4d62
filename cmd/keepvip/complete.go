package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// completeTime bounds how long a shell waits for names that a running keepvip is asked for.
const completeTime = time.Second

// names completes words by what a running keepvip says; without one there is nothing to say, and no error is printed into the command line.
func names(socket *string, of func(daemon.Status) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.Background(), completeTime)
		defer cancel()
		var s daemon.Status
		if err := control.NewClient(*socket).Status(ctx, &s); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		given := func(name string) bool { return slices.Contains(args, name) }
		return slices.DeleteFunc(of(s), given), cobra.ShellCompDirectiveNoFileComp
	}
}

// vipNames are the names of the virtual addresses.
func vipNames(s daemon.Status) (out []string) {
	for _, v := range s.VIPs {
		out = append(out, v.Name)
	}
	return out
}

// otherNodes are the nodes that an address can be passed on to: by name, or else by address.
func otherNodes(s daemon.Status) (out []string) {
	for _, v := range s.VIPs {
		for _, m := range v.Members {
			name := cmp.Or(m.Node, m.Address.String())
			if !m.Self && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// memberAddresses are those of the Raft cluster's members.
func memberAddresses(s daemon.Status) (out []string) {
	if s.Raft == nil {
		return nil
	}
	for _, m := range s.Raft.Members {
		out = append(out, m.Address.String())
	}
	return out
}
