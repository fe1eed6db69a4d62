package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

func newReload() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Make the running keepvip read its configuration again",
		Long: "Makes the running keepvip read its configuration again, as SIGHUP does, and prints what changed.\n" +
			"A configuration with an error changes nothing.",
		Args: noArguments,
	}
	socket, output := bindSocket(cmd), bindOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var done daemon.Reloaded
		if err := control.NewClient(*socket).Reload(cmd.Context(), &done); err != nil {
			return failed(err)
		}
		return output.print(cmd.OutOrStdout(), kindReload, done, func() string { return reloadText(done) })
	}
	return cmd
}

// reloadText has a line for each thing that a reload did.
func reloadText(done daemon.Reloaded) string {
	var b strings.Builder
	for _, part := range []struct {
		what string
		list []string
	}{
		{"added", done.Added},
		{"removed", done.Removed},
		{"changed", done.Changed},
		{"changed, with a new election", done.Recreated},
		{"in force", done.Live},
		{"waits for a restart", done.Restart},
	} {
		if len(part.list) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", part.what, strings.Join(part.list, ", "))
		}
	}
	if b.Len() == 0 {
		return "read again: nothing has changed\n"
	}
	return b.String()
}
