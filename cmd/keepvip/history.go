package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/node/history"
)

func newHistory() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history [NAME ...]",
		Short: "Say when the address has moved, from whom to whom and why",
		Long: "Shows the last transitions that this node has seen, over restarts and reboots: when, of which virtual address, who held it and who\n" +
			"holds it, why, who asked for it, and for how long it was away as seen from here. Between them is since when this node was SILENT (its\n" +
			"kernel kept it from answering), OUT of the election, or BLOCKED (no node could hold the address), and until when. Where no keepvip runs it reads the file that the last\n" +
			"one has left in the state directory.",
		Args: arguments("NAME", 0, anyNumber),
	}
	socket, stateDir, output := bindSocket(cmd), bindStateDir(cmd), bindOutput(cmd)
	cmd.ValidArgsFunction = names(socket, vipNames)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		doc, err := recall(cmd.Context(), *socket, *stateDir)
		if err == nil {
			doc.Transitions, err = transitionsOf(doc.Transitions, names)
		}
		if err != nil {
			return failed(err)
		}
		return output.print(cmd.OutOrStdout(), kindHistory, doc, func() string { return historyText(doc, time.Now()) })
	}
	return cmd
}

// recall asks the keepvip that runs here, or reads what the last one has left.
func recall(ctx context.Context, socket, stateDir string) (doc daemon.History, err error) {
	err = control.NewClient(socket).History(ctx, &doc)
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ECONNREFUSED) {
		return doc, err
	}
	doc.Node, _ = os.Hostname() // a node without a name is shown without
	doc.File = history.Path(stateDir)
	records, damaged, lost := history.Read(stateDir)
	if lost != nil {
		return doc, fmt.Errorf("%w; and the history of its last run cannot be read: %w", err, lost)
	}
	doc.Transitions = append([]history.Record{}, records...)
	if damaged > 0 {
		doc.Problem = &history.Status{Path: doc.File, Error: fmt.Sprintf("%d lines are damaged, as by a kill or a power cut, and left out", damaged)}
	}
	return doc, nil
}

// transitionsOf leaves those of the named virtual addresses.
func transitionsOf(all []history.Record, names []string) ([]history.Record, error) {
	if len(names) == 0 {
		return all, nil
	}
	kept, have := []history.Record{}, []string{}
	for _, r := range all {
		if slices.Contains(names, r.Name) {
			kept = append(kept, r)
		}
		if !slices.Contains(have, r.Name) {
			have = append(have, r.Name)
		}
	}
	for _, name := range names {
		if !slices.Contains(have, name) {
			return nil, fmt.Errorf("no transition of %q is known, there are some of: %s", name, cmp.Or(strings.Join(have, ", "), "no address"))
		}
	}
	return kept, nil
}

// pastText is a line about a history that the file does not have.
func pastText(s *history.Status, now time.Time) string {
	switch {
	case s == nil:
		return ""
	case s.Error != "" && !s.Since.IsZero():
		return fmt.Sprintf("HISTORY in memory only for %s: %s\n", ago(now, s.Since), coded(s.Error, s.Code))
	case s.Error != "":
		return fmt.Sprintf("HISTORY %s: %s\n", s.Path, s.Error)
	}
	return fmt.Sprintf("HISTORY %s lacks %d transitions that came too fast\n", s.Path, s.Dropped)
}

// historyText is the history as a person reads it.
func historyText(d daemon.History, now time.Time) string {
	var b strings.Builder
	if d.File != "" {
		fmt.Fprintf(&b, "no keepvip answers here: this is what the last one has left in %s\n", d.File)
	}
	b.WriteString(pastText(d.Problem, now))
	if len(d.Transitions) == 0 {
		return b.String() + "no transition yet\n"
	}
	rows := [][]string{{"TIME (" + now.Format("MST") + ")", "NAME", "HOLDER", "THIS NODE", "AWAY", "CODE", "WHY"}}
	for i, r := range d.Transitions {
		if i > 0 {
			if mark := between(d.Transitions[i-1], r); mark != "" {
				rows = append(rows, []string{"-- " + mark + " --"})
			}
		}
		holder, here := nodeText(r.OldHolder)+" -> "+nodeText(r.NewHolder), r.From+" -> "+r.To
		if r.Fault != "" {
			holder, here = nodeText(r.NewHolder), r.To+", "+faultText(r)
		}
		rows = append(rows, []string{
			r.At.In(now.Location()).Format("2006-01-02 15:04:05.000"), r.Name, holder, here, awayText(r), string(r.Code), whyText(r),
		})
	}
	alignRows(&b, rows)
	return b.String()
}

// alignRows writes rows, with columns as wide as their widest cell. A row of one cell is a line between the others.
func alignRows(b *strings.Builder, rows [][]string) {
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			if len(row) > 1 {
				wide[i] = max(wide[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			fmt.Fprintf(b, "%-*s  ", wide[i], cell)
		}
		b.WriteString(row[len(row)-1] + "\n")
	}
}

// clockSlack is what two clocks may differ by before that is called a step.
const clockSlack = time.Second

// between says what of the clocks happened between two transitions.
func between(a, b history.Record) string {
	if a.Boot != b.Boot {
		return "reboot"
	}
	ran := (b.BootSeconds - a.BootSeconds)
	step := b.At.Sub(a.At) - time.Duration(ran*float64(time.Second))
	slack := clockSlack + time.Duration(math.Abs(ran)*float64(time.Second)/1000) // a clock that is disciplined drifts
	switch {
	case step > slack:
		return "the clock was set forward by " + step.Round(time.Millisecond).String()
	case step < -slack:
		return "the clock was set back by " + (-step).Round(time.Millisecond).String()
	}
	return ""
}

// nodeText is a node by its name, or else its address.
func nodeText(n election.Node) string { return cmp.Or(n.Name, n.String(), "nobody") }

// faultText is what began, or is over, without a move of the address.
func faultText(r history.Record) string {
	text := strings.ToUpper(r.Fault)
	if r.Over {
		return "no longer " + text
	}
	return text
}

func awayText(r history.Record) string {
	if r.AwaySeconds == 0 {
		return "-"
	}
	return time.Duration(r.AwaySeconds * float64(time.Second)).Round(time.Millisecond).String()
}

// whyText is the reason, the cause where that says more, and who asked.
func whyText(r history.Record) string {
	text := r.Reason
	if r.Cause != "" && r.Cause != r.Reason {
		text += "; " + r.Cause
	}
	if r.AskedBy != "" && !strings.Contains(text, r.AskedBy) {
		text += "; asked by " + r.AskedBy
	}
	return text
}
