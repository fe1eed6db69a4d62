package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

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
		Args:    noArguments,
	}
	binary := cmd.Flags().String("binary", "", "where keepvip is installed on the nodes; without it the path of this program, or "+packagedBinary+" if a unit could not run that")
	follower := bindFollower(cmd)
	flags := bindManifest(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return flags.run(cmd, func(cfg *config.Config) ([]byte, []string, error) {
			if cfg.Path == config.EnvInline {
				return nil, nil, fmt.Errorf("%s: a unit cannot carry the file, want --config with its path on the nodes", config.EnvInline)
			}
			if *binary == "" {
				*binary = binaryHere()
			}
			unit := unitOf(cfg, *binary, cfg.Path)
			unit.Keepalived = cfg.Converted
			if *follower {
				if err := followable(cfg); err != nil {
					return nil, nil, err
				}
				unit.Follower, unit.Unsigned, unit.Realtime, unit.SwitchUser, unit.Chown, unit.Writable = true, cfg.Follow.KeyFile == "", false, false, false, nil
				out, err := kubeadm.Systemd(unit)
				return out, followerNotes(cfg), err
			}
			out, err := kubeadm.Systemd(unit)
			if cfg.Converted { // what the secrets are in
				return out, nil, err
			}
			return out, keyNotes(cfg), err
		})
	}
	return cmd
}

// packagedBinary is where the packages install keepvip.
const packagedBinary = "/usr/bin/keepvip"

// binaryHere is the path of this program, as a unit on this node would start it.
func binaryHere() string {
	self, err := os.Executable()
	if err != nil {
		return packagedBinary
	}
	return unitBinary(self)
}

// unitBinary is the program that a unit names: the one that prints it, unless the unit's ProtectHome and PrivateTmp hide it.
func unitBinary(self string) string {
	for _, hidden := range []string{"/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"} {
		if strings.HasPrefix(self, hidden) {
			return packagedBinary
		}
	}
	return self
}

func unitOf(cfg *config.Config, binary, file string) kubeadm.UnitConfig {
	unit := kubeadm.UnitConfig{Node: nodeOf(cfg), Binary: binary, Chown: cfg.FIFO.User != ""}
	unit.ConfigFile = file
	if cfg.KeepalivedFiles != "" {
		unit.Writable = append(unit.Writable, cfg.KeepalivedFiles)
	}
	unit.SwitchUser = slices.ContainsFunc(cfg.Programs(), func(p config.Program) bool { return !p.AsRoot() })
	return unit
}
