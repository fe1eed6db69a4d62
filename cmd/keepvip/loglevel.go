package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/control"
)

func newLogLevel() *cobra.Command {
	levels := []string{string(config.LogDebug), string(config.LogInfo), string(config.LogWarn), string(config.LogError)}
	cmd := &cobra.Command{
		Use:   "log-level LEVEL",
		Args:  arguments("a LEVEL: debug, info, warn or error", 1, 1),
		Short: "Have the running keepvip log more, or less, for a while",
		Long: "Has the running keepvip log from that level on, for as long as --for says. Then, and at a reload or a restart, the level is\n" +
			"the configured one again (log.level).",
		Example:           "  keepvip log-level debug --for 10m",
		ValidArgsFunction: cobra.FixedCompletions(levels, cobra.ShellCompDirectiveNoFileComp),
	}
	lasts := cmd.Flags().Duration("for", 10*time.Minute, "for how long, at most 24h")
	socket, output := bindSocket(cmd), bindOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(levels, args[0]) {
			return fmt.Errorf("level %q, want one of %s", args[0], strings.Join(levels, ", "))
		}
		begin := time.Now()
		if err := control.NewClient(*socket).LogLevel(cmd.Context(), args[0], *lasts); err != nil {
			return failed(err)
		}
		doc := confirmationDoc{Verb: "log-level", Level: args[0], For: lasts.Seconds(), Took: time.Since(begin).Seconds(), VIPs: []confirmedVIP{}}
		return output.print(cmd.OutOrStdout(), kindConfirmation, doc, func() string {
			return fmt.Sprintf("log level %s for %s\n", args[0], *lasts)
		})
	}
	return cmd
}
