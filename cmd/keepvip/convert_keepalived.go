package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/tools/keepalived/convert"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// convertKeepalived prints what a keepalived.conf comes to, and the findings on standard error; or both as an object.
func convertKeepalived(cmd *cobra.Command, path, id string, o convert.Options, asObject bool) error {
	doc, err := syntax.Read(path, cmp.Or(id, hostID()), syntax.Disk{Pipe: path})
	if err != nil {
		return unreadable(path, err, aKeepalivedConf+", or of a kube-vip manifest")
	}
	r := convert.Convert(doc, onThisHost(o))
	if asObject {
		if err := printConversion(cmd, path, r.Text, r.Findings); err != nil || r.Text != nil {
			return err
		}
		return refusedConversion(r)
	}
	var lines strings.Builder
	findingLines(&lines, r.Folded())
	if _, err := io.WriteString(cmd.ErrOrStderr(), lines.String()); err != nil {
		return failed(err)
	}
	if r.Text == nil {
		return refusedConversion(r)
	}
	_, err = cmd.OutOrStdout().Write(r.Text)
	return failed(err)
}

// findProgram is where keepalived finds a program, when systemd starts it.
func findProgram(name string) string {
	for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

func refusedConversion(r convert.Result) error {
	what := "the error"
	if r.Refused > 1 {
		what = fmt.Sprintf("the %d errors", r.Refused)
	}
	if !r.Valid {
		return fmt.Errorf("nothing is printed, for %s above: repair the file first", what)
	}
	return fmt.Errorf("nothing is printed, for %s above: repair the file, or take what can be carried over with --partial", what)
}
