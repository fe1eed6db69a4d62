package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/daemon"
)

func newConfig() *cobra.Command {
	return group(&cobra.Command{Use: "config", Short: "Check or describe the configuration"}, newValidate(), newShow(), newSchema())
}

func newValidate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check the configuration from file, environment and flags",
		Long: "Checks the configuration as `run` would, with the keys, certificates, programs and users that it names, and changes nothing.\n" +
			"Every problem is one line on standard error, and so is every note: what is valid, but not ready on this host.\n" +
			"A virtual address that is something else in a network of this host, such as the host's own address, is a problem too.",
		Args: arguments("FILE", 0, 1),
	}
	return describing(cmd, func(cfg *config.Config) error {
		if err := daemon.SuitsHere(cfg); err != nil {
			return err
		}
		for _, w := range slices.Concat(cfg.Warnings, advice(cfg), daemon.HostNotes(cfg)) {
			if _, err := fmt.Fprintln(cmd.ErrOrStderr(), "note: "+w); err != nil {
				return failed(err)
			}
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "the configuration is valid")
		return failed(err)
	})
}

// describing makes cmd one that says something of a configuration, of flags and environment and of the file in its argument.
func describing(cmd *cobra.Command, say func(*config.Config) error) *cobra.Command {
	flags := bindConfig(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := flags.argument(args); err != nil {
			return err
		}
		cfg, err := flags.load()
		if err != nil {
			return err
		}
		return say(cfg)
	}
	return cmd
}

// advice is what is valid but worth knowing.
func advice(cfg *config.Config) []string {
	var out []string
	for i, v := range cfg.VIPs {
		if v.Election != config.ElectionVRRP || cfg.Origin(fmt.Sprintf("vips[%d].vrrp.id", i)).Source != config.Default {
			continue
		}
		out = append(out, fmt.Sprintf("vips[%d] (%s): the VRID %d comes from %s; when that address changes, so does the VRID: "+
			"set vrrp.id before you change it, and always beside keepalived peers", i, v.Name, v.VRRP.ID, v.Addresses[0].Addr()))
	}
	return out
}

func newShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Print every value in force and where it comes from",
		Args:  arguments("FILE", 0, 1),
	}
	return describing(cmd, func(cfg *config.Config) error {
		for _, v := range cfg.Values() {
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s # %s\n", v.Key, v.Text, v.Origin); err != nil {
				return failed(err)
			}
		}
		return nil
	})
}

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of the configuration file",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema())
			return failed(err)
		},
	}
}
