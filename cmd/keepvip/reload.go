package main

import (
	"context"
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
	return asking(cmd, func(ctx context.Context, c *control.Client, _ []string) error {
		var done daemon.Reloaded
		if err := c.Reload(ctx, &done); err != nil {
			return err
		}
		return printJSON(cmd, done)
	})
}

// printJSON prints a document as scripts read it.
func printJSON(cmd *cobra.Command, doc any) error {
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), string(b))
	return err
}
