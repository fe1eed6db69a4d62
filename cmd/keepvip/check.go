package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/daemon"
	"github.com/keepvip/keepvip/internal/health"
)

// errIll is the exit status of a node that is not fit. The lines above it say why.
var errIll = errors.New("not fit: a check without which the node is not fit is bad")

func newCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Run the configured health checks here, and explain what they find",
		Long: "Runs the configured health checks on this node, beside a keepvip that may be running, and changes nothing.\n" +
			"With --once it prints one line for each and exits with status 0 when the node is fit, 1 when it is not. Without,\n" +
			"it goes on as the daemon would, counting, and prints a line whenever a check changes its mind.",
		Example: "  keepvip check --once --config /etc/keepvip/keepvip.yaml",
		Args:    noArguments,
	}
	once := cmd.Flags().Bool("once", false, "take one look, without counting")
	flags := bindConfig(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.load()
		if err != nil {
			return err
		}
		all, done, err := daemon.OpenChecks(cfg)
		if err != nil {
			return byHost(err)
		}
		defer done()
		if *once {
			return failed(checkOnce(cmd.Context(), cmd.OutOrStdout(), all))
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGTERM, unix.SIGINT)
		defer stop()
		return failed(checkOn(ctx, cmd.OutOrStdout(), all))
	}
	return cmd
}

// checkOnce runs all checks at the same time and prints them in their order.
func checkOnce(ctx context.Context, w io.Writer, all []daemon.NamedCheck) error {
	lines, unhealthy := make([]string, len(all)), make([]bool, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() {
			start := time.Now()
			r := c.Once(ctx)
			lines[i] = explainVerdict(c, r.Outcome == health.Pass, r.Reason, r.Hint) + fmt.Sprintf(" (took %v)", time.Since(start).Round(100*time.Microsecond))
			unhealthy[i] = r.Outcome != health.Pass && (c.Weight == 0 || c.Numbered)
		})
	}
	wg.Wait()
	if _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); err != nil {
		return err
	}
	if slices.Contains(unhealthy, true) {
		return errIll
	}
	return nil
}

// explainVerdict is one line about one result.
func explainVerdict(c daemon.NamedCheck, good bool, reason, hint string) string {
	out := c.Label() + ": "
	switch {
	case good:
		out += "healthy: " + reason
	case c.Weight == 0 || c.Numbered:
		out += "unhealthy: " + reason
	default:
		out += fmt.Sprintf("unhealthy, costs %d of the priority: %s", max(c.Weight, -c.Weight), reason)
	}
	if hint != "" {
		out += "; " + hint
	}
	return out
}

// checkOn runs all checks until ctx ends, as the daemon would.
func checkOn(ctx context.Context, w io.Writer, all []daemon.NamedCheck) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan string)
	for _, c := range all {
		wg.Go(func() {
			c.Run(ctx, func(v health.Verdict) {
				select {
				case lines <- verdictText(c, v):
				case <-ctx.Done():
				}
			})
		})
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case line := <-lines:
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}
}

func verdictText(c daemon.NamedCheck, v health.Verdict) string {
	at := v.LastProbe.Format("15:04:05.000 ")
	if v.State == health.Unknown {
		return at + c.Label() + ": no verdict yet: " + v.Reason
	}
	return at + explainVerdict(c, v.State == health.Healthy, v.Reason, v.Hint)
}
