package main

import (
	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/control"
)

func newAnnounce() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "announce [NAME ...]",
		Args:  arguments("NAME", 0, anyNumber),
		Short: "Announce the addresses that this node holds, now",
		Long:  "Sends gratuitous ARP and unsolicited neighbour advertisements for the named virtual addresses, or for all.",
	}
	socket := bindSocket(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return failed(control.NewClient(*socket).Announce(cmd.Context(), names))
	}
	return cmd
}
