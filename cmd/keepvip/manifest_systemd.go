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
				unit.Follower, unit.Unsigned, unit.Realtime, unit.SwitchUser, unit.Chown = true, cfg.Follow.KeyFile == "", false, false, false
				unit.Files, unit.Writable = followerFiles(cfg), nil
				out, err := kubeadm.Systemd(unit)
				return out, followerNotes(cfg), err
			}
			notes := hiddenNotes(cfg, unit)
			out, err := kubeadm.Systemd(unit)
			if cfg.Converted { // what the secrets are in
				return out, notes, err
			}
			return out, append(keyNotes(cfg), notes...), err
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
	if (kubeadm.UnitConfig{}).Hides(self) != "" {
		return packagedBinary
	}
	return self
}

func unitOf(cfg *config.Config, binary, file string) kubeadm.UnitConfig {
	unit := kubeadm.UnitConfig{Node: nodeOf(cfg), Binary: binary, Files: unitFiles(cfg), Chown: cfg.FIFO.User != ""}
	unit.ConfigFile = file
	if cfg.KeepalivedFiles != "" {
		unit.Writable = append(unit.Writable, cfg.KeepalivedFiles)
	}
	programs := cfg.Programs()
	unit.SwitchUser = slices.ContainsFunc(programs, func(p config.Program) bool { return !p.AsRoot() })
	pipe := (kubeadm.UnitConfig{}).Hides(cfg.FIFO.Path) == "PrivateTmp"
	if (len(programs) > 0 || pipe) && unit.Hides("/tmp") == "" { // programs may write there as they may in one of the unit's own
		unit.Writable = append(unit.Writable, "/tmp", "/var/tmp")
	}
	return unit
}

// unitFiles are what the unit has to see as others see it, beside the configuration file itself.
func unitFiles(cfg *config.Config) []string {
	out := append(secretFiles(cfg), metricsCertificate(cfg.Metrics)...)
	if ownCertificates(cfg) {
		out = append(out, cfg.Raft.CA)
	}
	if cfg.FIFO.Path != "" {
		out = append(out, cfg.FIFO.Path)
	}
	for _, v := range cfg.VIPs {
		out = append(out, credentialFiles(v)...)
		for _, h := range v.Checks {
			if h.Path != "" {
				out = append(out, h.Path)
			}
			out = append(out, h.Command[:min(len(h.Command), 1)]...)
		}
		for _, h := range v.Hooks {
			out = append(out, h.Command[:min(len(h.Command), 1)]...)
		}
	}
	return out
}

// followerFiles are those of a host that is no member.
func followerFiles(cfg *config.Config) []string {
	out := append(metricsSecrets(cfg.Metrics), metricsCertificate(cfg.Metrics)...)
	if cfg.Follow.KeyFile != "" {
		out = append(out, cfg.Follow.KeyFile)
	}
	return out
}

// hiddenNotes are about what programs are told of that the unit hides. Whether they look at it is theirs to know.
func hiddenNotes(cfg *config.Config, unit kubeadm.UnitConfig) (notes []string) {
	look := func(at string, command []string) {
		if len(command) == 0 {
			return
		}
		for _, word := range command[1:] {
			for _, p := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n\"'=,:;()<>|&", r) }) {
				if setting := unit.Hides(p); strings.HasPrefix(p, "/") && setting != "" {
					notes = append(notes, fmt.Sprintf("%s: the program does not see %s of this host in the unit (%s): want such a file elsewhere, as below /run or /etc", at, p, setting))
				}
			}
		}
	}
	for i, v := range cfg.VIPs {
		for j, h := range v.Checks {
			look(fmt.Sprintf("vips[%d].checks[%d] (%s)", i, j, h.Name), h.Command)
		}
		for j, h := range v.Hooks {
			look(fmt.Sprintf("vips[%d].hooks[%d]", i, j), h.Command)
		}
	}
	return notes
}
