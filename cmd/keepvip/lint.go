package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/lint"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// lintDoc is what lint prints as JSON.
type lintDoc struct {
	File     string               `json:"file"`
	Findings []keepalived.Finding `json:"findings"` // never null
	lint.Count
}

func newLint() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint FILE",
		Short: "Name the traps of a keepalived.conf, with line and remedy",
		Long: "Reads a keepalived.conf, with what it includes, as keepalived 2.2.7 does, and says where it does something else than it says,\n" +
			"or something that is seldom wanted: each with file, line and remedy. It is of use without keepvip, too. Nothing is run and\n" +
			"nothing is changed; whether a script, an interface or a user is there is not looked at.\n\n" +
			"Severities: an error is what `keepalived -t` refuses, or what keepalived drops; a warning is a trap; a note is worth knowing\n" +
			"before keepvip takes the file over, or what keepalived logs and works with as meant.\n\n" +
			"Exit codes: 0 notes at most, 1 warnings, 2 errors, or the file cannot be read.",
		Example: "  keepvip lint /etc/keepalived/keepalived.conf",
		Args:    arguments("FILE", 1, 1),
	}
	output := bindOutput(cmd)
	id := cmd.Flags().StringP("config-id", "i", "", "what lines with @id are for; without it the first part of this host's name, as in keepalived")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *id == "" {
			*id = hostID()
		}
		if _, ok := kubeVIPText(args[0]); ok {
			return fmt.Errorf("%s: YAML, want a keepalived.conf: keepvip config validate checks a configuration of keepvip, and keepvip convert reads a kube-vip", args[0])
		}
		cfg, err := keepalived.Read(args[0], *id, syntax.Disk{Pipe: args[0]})
		if err != nil {
			return unreadable(args[0], err, aKeepalivedConf)
		}
		doc := lintDoc{File: args[0], Findings: lint.Grade(lint.Lint(cfg))}
		doc.Count = lint.Tally(doc.Findings)
		err = output.print(cmd.OutOrStdout(), kindLint, doc, func() string { return lintText(doc) })
		return cmp.Or(err, verdictOf(doc.Count))
	}
	return cmd
}

// hostID is keepalived's default for --config-id.
func hostID() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(name, ".")
	return first
}

const aKeepalivedConf = "a keepalived.conf"

// unreadable says of a file that cannot be read what its path was to be.
func unreadable(path string, err error, what string) error {
	var wrong *fs.PathError
	if errors.As(err, &wrong) {
		err = wrong.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: %w: run the command as a user who may read the file", path, err)
	}
	return fmt.Errorf("%s: %w: want the path of %s", path, err, what)
}

func lintText(doc lintDoc) string {
	var b strings.Builder
	findingLines(&b, doc.Findings)
	if len(doc.Findings) == 0 {
		fmt.Fprintf(&b, "%s: no traps\n", doc.File)
	}
	return b.String()
}

// findingLines writes a line for each finding.
func findingLines(b *strings.Builder, all []keepalived.Finding) {
	for _, f := range all {
		b.WriteString(findingLine(f) + "\n")
	}
}

func findingLine(f keepalived.Finding) string {
	line := fmt.Sprintf("%v: %s %s: %s", f.Origin, f.Severity, f.Code, f.Text)
	if f.Remedy != "" {
		line += "; " + f.Remedy
	}
	return line
}

// verdictOf is the exit status. The findings themselves are printed.
func verdictOf(n lint.Count) error {
	counted := errors.New(counts(n))
	switch {
	case n.Errors > 0:
		return codedError{error: counted, code: exitUsage}
	case n.Warnings > 0:
		return codedError{error: counted, code: exitFailure}
	}
	return nil
}

func counts(n lint.Count) string {
	return printable.Several(n.Errors, "error") + ", " + printable.Several(n.Warnings, "warning") + ", " + printable.Several(n.Notes, "note")
}
