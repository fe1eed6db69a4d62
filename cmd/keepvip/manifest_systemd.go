package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/kubeadm"
)

func newManifestSystemd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "systemd",
		Short: "Print a systemd unit",
		Long: "Prints a systemd unit, the same for every node, to be put into\n" + kubeadm.UnitPath + ". It names the configuration file by its path;\n" +
			"flags stand in its command line.",
		Example: "  keepvip manifest systemd --config /etc/keepvip/keepvip.yaml > keepvip.service",
		Args:    cobra.NoArgs,
	}
	binary := bindBinary(cmd)
	flags := bindManifest(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return flags.run(cmd, func(cfg *config.Config) ([]byte, []string, error) {
			if cfg.Path == config.EnvInline {
				return nil, nil, fmt.Errorf("%s: a unit cannot carry the file, want --config with its path on the nodes", config.EnvInline)
			}
			out, err := kubeadm.Systemd(unitOf(cfg, *binary, cfg.Path))
			return out, keyNotes(cfg), err
		})
	}
	return cmd
}

func bindBinary(cmd *cobra.Command) *string {
	return cmd.Flags().String("binary", "/usr/bin/keepvip", "where keepvip is installed on the nodes")
}

func unitOf(cfg *config.Config, binary, file string) kubeadm.SystemdConfig {
	return kubeadm.SystemdConfig{
		Binary: binary, Args: cfg.Args(), ConfigFile: file, Socket: cfg.Socket, StateDir: cfg.StateDir, Realtime: cfg.Realtime,
	}
}
