package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/fence"
	"github.com/keepvip/keepvip/internal/link"
	"github.com/keepvip/keepvip/internal/singleton"
)

func newCleanup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove from this host whatever a keepvip that is gone has left",
		Long: "Removes every address and nftables table that a keepvip has left on this host, and prints each.\n" +
			"It refuses while a keepvip is running here.",
		Args: noArguments,
	}
	socket := bindSocket(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if c, err := net.DialTimeout("unix", *socket, time.Second); err == nil {
			_ = c.Close()
			return failed(fmt.Errorf("a keepvip is running here (it serves %s): stop it first, it removes its addresses itself", *socket))
		}
		lock, err := singleton.Take("") // whatever its socket; and none starts meanwhile
		if err != nil {
			return failed(fmt.Errorf("%w; when it stops it removes its addresses itself", err))
		}
		defer lock.Close()
		links, err := link.Open(slog.New(slog.DiscardHandler))
		if err != nil {
			return failed(err)
		}
		defer links.Close()
		return failed(cleanup(cmd, links))
	}
	return cmd
}

func cleanup(cmd *cobra.Command, links *link.Handle) error {
	all, err := links.Links()
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range all {
		for _, a := range l.Addresses {
			if !a.Ours {
				continue
			}
			if err := links.Remove(l.Index, a.Prefix); err != nil {
				errs = append(errs, err)
				continue
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "removed %s from %s\n", a.Prefix, l.Name)
			errs = append(errs, err)
		}
	}
	fences, err := fence.Cleanup()
	errs = append(errs, err)
	for _, name := range fences {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "removed the nftables table %s\n", name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
