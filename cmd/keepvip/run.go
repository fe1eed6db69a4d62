package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

func newRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Take part in the election and hold the address when elected",
		Long: "Takes part in the election on this node and holds the address when elected, until SIGTERM or SIGINT.\n" +
			"SIGHUP reads the configuration again. It needs the capabilities NET_ADMIN and NET_RAW.\n\n" +
			"--keepalived-conf takes a keepalived.conf as it is, by what `keepvip convert` makes of it: what that calls an error refuses the\n" +
			"start, and a reload, which reads the includes again, too; warnings are logged. Passwords stay in memory.",
		Example: "  keepvip run --vip 10.0.0.100\n  keepvip run --config /etc/keepvip/keepvip.yaml\n" +
			"  keepvip run --keepalived-conf /etc/keepalived/keepalived.conf",
		Args: noArguments,
	}
	flags := bindConfig(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.load()
		if err != nil {
			return err
		}
		log, level := newLogger(cmd.ErrOrStderr(), cfg.Log)
		return runDaemon(cmd.Context(), cfg, daemon.Options{Load: flags.load, Version: programVersion(), Log: log, LogLevel: level}, func() {})
	}
	return cmd
}

// runDaemon takes part until it is told to end. begun is called when nothing else keeps keepvip from running.
func runDaemon(ctx context.Context, cfg *config.Config, o daemon.Options, begun func()) error {
	for _, w := range cfg.Warnings {
		o.Log.Warn(w)
	}
	d, err := daemon.Open(ctx, cfg, o)
	if err != nil {
		return byHost(err)
	}
	begun()
	return failed(d.Run(ctx))
}

// byHost marks what a host keeps from running, and leaves the configuration's errors as they are.
func byHost(err error) error {
	var host *daemon.HostError
	if errors.As(err, &host) {
		return failed(err)
	}
	return err
}
