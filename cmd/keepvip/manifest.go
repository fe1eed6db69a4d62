package main

import (
	"github.com/spf13/cobra"
)

func newManifest() *cobra.Command {
	return &cobra.Command{Use: "manifest", Short: "Print what a node needs to run keepvip"}
}
