package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/keepalived/convert"
	"github.com/keepvip/keepvip/internal/keepalived/syntax"
)

// convertKeepalived prints what a keepalived.conf comes to, and the findings on standard error.
func convertKeepalived(cmd *cobra.Command, path, id string, o convert.Options) error {
	doc, err := syntax.Read(path, syntax.Options{ID: cmp.Or(id, hostID()), Files: syntax.Disk{}})
	if err != nil {
		return unreadable(path, err)
	}
	r := convert.Convert(doc, o)
	var lines strings.Builder
	findingLines(&lines, r.Findings)
	if _, err := io.WriteString(cmd.ErrOrStderr(), lines.String()); err != nil {
		return failed(err)
	}
	if r.Text == nil {
		return refusedConversion(r)
	}
	_, err = cmd.OutOrStdout().Write(r.Text)
	return failed(err)
}

func refusedConversion(r convert.Result) error {
	what := "the error"
	if r.Refused > 1 {
		what = fmt.Sprintf("the %d errors", r.Refused)
	}
	if !r.Valid {
		return fmt.Errorf("nothing is printed, for %s above: mend the file first", what)
	}
	return fmt.Errorf("nothing is printed, for %s above: mend the file, or take what can be carried over with --partial", what)
}
