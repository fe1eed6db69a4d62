package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/kubeadm"
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
			"A virtual address that is something else in a network of this host, such as the host's own address, is a problem too, and so is\n" +
			"one in a network of containers, or with --kubeadm-config in a subnet of the cluster's services or pods.",
		Args: arguments("FILE", 0, 1),
	}
	output := bindOutput(cmd)
	file := cmd.Flags().String("kubeadm-config", "", "a kubeadm configuration: the address comes from its controlPlaneEndpoint unless --vip is given, and what does not fit is an error")
	var k *kubeadm.InitConfig
	load := func(f *configFlags) (cfg *config.Config, err error) {
		in := f.input()
		if k, err = readKubeadm(&in, *file, false); err != nil {
			return nil, err
		}
		return config.Load(in)
	}
	return describing(cmd, load, func(cfg *config.Config) error {
		spreadsPorts(k, cfg)
		fits, err := fit(k, cfg)
		if err := errors.Join(daemon.SuitsHere(cfg), err); err != nil {
			return err
		}
		doc := validationDoc{Valid: true, Notes: append([]string{}, slices.Concat(cfg.Warnings, advice(cfg), fits, daemon.HostNotes(cfg))...)}
		for _, w := range doc.Notes {
			if _, err := fmt.Fprintln(cmd.ErrOrStderr(), "note: "+w); err != nil {
				return failed(err)
			}
		}
		return output.print(cmd.OutOrStdout(), kindValidation, doc, func() string { return "the configuration is valid\n" })
	})
}

// validationDoc is what config validate prints as JSON of a valid configuration.
type validationDoc struct {
	Valid bool     `json:"valid"`
	Notes []string `json:"notes"` // what is valid, but not ready on this host, or worth knowing
}

// configurationDoc is what config show prints as JSON.
type configurationDoc struct {
	Values []configuredValue `json:"values"`
}

type configuredValue struct {
	Key    string `json:"key"` // vips[0].priority
	Value  string `json:"value"`
	Origin string `json:"origin"` // a file with its line, a flag, a variable, or default
}

func (d configurationDoc) text() string {
	var b strings.Builder
	for _, v := range d.Values {
		fmt.Fprintf(&b, "%s: %s # %s\n", v.Key, v.Value, v.Origin)
	}
	return b.String()
}

// describing makes cmd one that says something of a configuration, which load reads from flags, environment and the file in its argument.
func describing(cmd *cobra.Command, load func(*configFlags) (*config.Config, error), say func(*config.Config) error) *cobra.Command {
	flags := bindConfig(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := flags.argument(args); err != nil {
			return err
		}
		cfg, err := load(flags)
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
			"set vrrp.id before you change it, and always beside keepalived peers", i, v.Name, v.VRRP.ID, v.First()))
	}
	return out
}

func newShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Print every value in force and where it comes from",
		Args:  arguments("FILE", 0, 1),
	}
	changed := cmd.Flags().Bool("changed", false, "leave out what is as by default")
	running := cmd.Flags().Bool("running", false, "what the keepvip at --socket runs with, marked where the file says something else by now")
	output := bindOutput(cmd)
	describing(cmd, (*configFlags).load, func(cfg *config.Config) error {
		var doc configurationDoc
		for _, v := range cfg.Values() {
			if *changed && v.Origin.Source == config.Default {
				continue
			}
			doc.Values = append(doc.Values, configuredValue{Key: v.Key, Value: v.Text, Origin: fmt.Sprint(v.Origin)})
		}
		return output.print(cmd.OutOrStdout(), kindConfiguration, doc, doc.text)
	})
	offline := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*running {
			return offline(cmd, args)
		}
		if len(args) > 0 {
			return fmt.Errorf("--running and the file %s are given, want one of them", args[0])
		}
		if other := besides(cmd, "running", "changed", "socket", "output"); other != "" {
			return fmt.Errorf("--running and --%s are given, want one of them: what runs has sources of its own", other)
		}
		var doc daemon.RunningConfig
		if err := control.NewClient(socketOf(cmd)).Config(cmd.Context(), &doc); err != nil {
			return failed(err)
		}
		if *changed {
			doc.Values = slices.DeleteFunc(doc.Values, func(v daemon.RunningValue) bool { return v.Origin == (config.Origin{}).String() && v.OnDisk == nil })
		}
		return output.print(cmd.OutOrStdout(), kindRunning, doc, func() string { return runningText(doc) })
	}
	return cmd
}

// socketOf is the socket that a command means which has a flag for every option.
func socketOf(cmd *cobra.Command) string {
	socket := cmd.Flag("socket")
	if env := os.Getenv(envOf(socket)); env != "" && !socket.Changed {
		return env
	}
	return socket.Value.String()
}

// besides is a flag that is given and is none of these; empty: there is none.
func besides(cmd *cobra.Command, known ...string) (other string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(known, f.Name) {
			other = f.Name
		}
	})
	return other
}

func runningText(doc daemon.RunningConfig) string {
	var b strings.Builder
	if doc.Error != "" {
		fmt.Fprintf(&b, "# the configuration cannot be read again: %s\n", strings.ReplaceAll(doc.Error, "\n", "; "))
	}
	for _, v := range doc.Values {
		fmt.Fprintf(&b, "%s: %s # %s", v.Key, v.Value, v.Origin)
		switch {
		case v.Only != "" && v.OnDisk != nil:
			fmt.Fprintf(&b, "; not running, waits for a reload: %s", *v.OnDisk)
		case v.Only != "":
			b.WriteString("; not on disk any more, waits for a reload")
		case v.OnDisk != nil && v.Restart:
			fmt.Fprintf(&b, "; waits for a restart: %s", *v.OnDisk)
		case v.OnDisk != nil:
			fmt.Fprintf(&b, "; waits for a reload: %s", *v.OnDisk)
		}
		b.WriteByte('\n')
	}
	return b.String()
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
