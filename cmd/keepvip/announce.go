package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/node/control"
)

func newAnnounce() *cobra.Command {
	return asking(&cobra.Command{
		Use:   "announce [NAME ...]",
		Args:  arguments("NAME", 0, anyNumber),
		Short: "Announce the addresses that this node holds, now",
		Long:  "Sends gratuitous ARP and unsolicited neighbour advertisements for the named virtual addresses, or for all.",
	}, func(ctx context.Context, c *control.Client, names []string) error {
		return c.Announce(ctx, names)
	})
}
