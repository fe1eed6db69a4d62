package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// version is set by the linker at release.
var version = "dev"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionText())
			return failed(err)
		},
	}
}

func versionText() string {
	return fmt.Sprintf("keepvip %s %s/%s %s", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
