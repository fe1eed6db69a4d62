package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/control"
	"github.com/keepvip/keepvip/internal/daemon"
)

func newReload() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Make the running keepvip read its configuration again",
		Long: "Makes the running keepvip read its configuration again, as SIGHUP does, and prints what changed.\n" +
			"A configuration with an error changes nothing.",
		Args: noArguments,
	}
	socket := bindSocket(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var done daemon.Reloaded
		if err := control.NewClient(*socket).Reload(cmd.Context(), &done); err != nil {
			return failed(err)
		}
		b, err := json.MarshalIndent(done, "", "  ")
		if err != nil {
			return failed(fmt.Errorf("encode the summary: %w", err))
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), string(b))
		return failed(err)
	}
	return cmd
}
