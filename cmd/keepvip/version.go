package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// version is set by the linker at release.
var version = "dev"

// versionDoc is what version prints as JSON.
type versionDoc struct {
	Version string `json:"version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Go      string `json:"go"` // the version of Go that it was built with
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: noArguments}
	output := bindOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		doc := versionDoc{Version: version, OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version()}
		return output.print(cmd.OutOrStdout(), kindVersion, doc, func() string { return versionText() + "\n" })
	}
	return cmd
}

func versionText() string {
	return fmt.Sprintf("keepvip %s %s/%s %s", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
