package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// errIll is the exit status of a node that is not fit. The lines above it say why.
var errIll = errors.New("not fit: a check that is a condition is unhealthy")

func newCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Run the configured health checks here, and explain what they find",
		Long: "Runs the configured health checks on this node, beside a keepvip that may be running, and changes nothing.\n" +
			"With --once it prints one line for each and exits with status 0 when the node is fit, 1 when it is not. Without,\n" +
			"it goes on as the daemon would, counting, and prints a line whenever a check changes its mind. Without a configuration it takes\n" +
			"that of the keepvip at --socket.",
		Example: "  keepvip check --once\n  keepvip check --once --config /etc/keepvip/keepvip.yaml",
		Args:    noArguments,
	}
	once := cmd.Flags().Bool("once", false, "take one look, without counting")
	output := bindOutput(cmd)
	flags := bindConfig(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *output == outputJSON && !*once {
			return errors.New("--output json without --once, want both")
		}
		cfg, err := flags.loadOrAsk(cmd)
		if err != nil {
			return err
		}
		all, done, err := daemon.OpenChecks(cfg)
		if err != nil {
			return byHost(err)
		}
		defer done()
		if *once {
			doc := checkOnce(cmd.Context(), all)
			err := output.print(cmd.OutOrStdout(), kindChecks, doc, doc.text)
			return cmp.Or(err, doc.verdict())
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGTERM, unix.SIGINT)
		defer stop()
		return failed(checkOn(ctx, cmd.OutOrStdout(), all))
	}
	return cmd
}

// checksDoc is what check --once prints as JSON.
type checksDoc struct {
	Fit    bool          `json:"fit"` // every condition is healthy
	Checks []checkedOnce `json:"checks"`
}

type checkedOnce struct {
	VIP     string  `json:"vip"`
	Name    string  `json:"name,omitempty"`   // absent for the only one, which has none
	Weight  int     `json:"weight,omitempty"` // absent for a condition
	Healthy bool    `json:"healthy"`
	Reason  string  `json:"reason"`
	Hint    string  `json:"hint,omitempty"`
	Took    float64 `json:"tookSeconds"`

	line string // for a person
}

// checkOnce runs all checks at the same time, and has their results in their order.
func checkOnce(ctx context.Context, all []daemon.NamedCheck) checksDoc {
	doc := checksDoc{Checks: make([]checkedOnce, len(all))}
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() {
			start := time.Now()
			r := c.Once(ctx)
			took, good := time.Since(start), r.Outcome == health.Pass
			doc.Checks[i] = checkedOnce{
				VIP: c.VIP, Name: c.Name, Weight: c.Weight, Healthy: good, Reason: r.Reason, Hint: r.Hint, Took: took.Seconds(),
				line: explainVerdict(c, good, r.Reason, r.Hint) + fmt.Sprintf(" (took %v)", took.Round(100*time.Microsecond)),
			}
		})
	}
	wg.Wait()
	doc.Fit = true
	for i, c := range all {
		doc.Fit = doc.Fit && (doc.Checks[i].Healthy || c.Weight != 0 && !c.Numbered)
	}
	return doc
}

func (d checksDoc) text() string {
	var b strings.Builder
	for _, c := range d.Checks {
		b.WriteString(c.line + "\n")
	}
	return b.String()
}

func (d checksDoc) verdict() error {
	if d.Fit {
		return nil
	}
	return failed(errIll)
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
