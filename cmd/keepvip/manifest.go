package main

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/base/regular"
	"github.com/keepvip/keepvip/internal/config"
)

// imageName is where released images are.
const imageName = "ghcr.io/keepvip/keepvip"

func newManifest() *cobra.Command {
	return group(&cobra.Command{
		Use:   "manifest",
		Short: "Print what a node needs to run keepvip",
		Long: "Prints what a node needs to run keepvip. All of it is made from the same flags, environment and file as `run`, and\n" +
			"checked as `run` would check it, but for the files that it names: those are on the nodes.",
	}, newManifestPod(), newManifestDaemonSet(), newManifestSystemd(), newManifestCloudInit(), newManifestControlPlane())
}

// manifestFlags are what every manifest is made from.
type manifestFlags struct {
	*configFlags
	kubeadm string
	print   bool
	listen  uint16 // the port that the apiservers listen on; 0: it is not known
}

// bindManifest gives cmd the flags that all manifests have; bind those of its own before.
func bindManifest(cmd *cobra.Command) *manifestFlags {
	m := &manifestFlags{}
	fs := cmd.Flags()
	fs.StringVar(&m.kubeadm, "kubeadm-config", "", "a kubeadm configuration: the address comes from its controlPlaneEndpoint unless --vip is given, and what does not fit is an error")
	fs.BoolVar(&m.print, "print-kubeadm", false, "print the kubeadm configuration instead, with controlPlaneEndpoint, certSANs and, with --spread, goaway-chance added where they are missing")
	m.configFlags = bindConfig(cmd)
	return m
}

// run loads the configuration and writes what render makes of it, or the kubeadm configuration. Notes go to standard error.
func (m *manifestFlags) run(cmd *cobra.Command, render func(*config.Config) (out []byte, notes []string, err error)) error {
	in := m.input()
	in.Elsewhere = true
	k, err := readKubeadm(&in, m.kubeadm, m.print)
	if err != nil {
		return err
	}
	cfg, err := config.Load(in)
	if err != nil {
		return err
	}
	if k != nil {
		m.listen = k.BindPort()
	}
	if cfg, err = probePort(m.listen, in, cfg); err != nil {
		return err
	}
	spreadsPorts(k, cfg)
	if m.print {
		out, err := k.Complete(addressesOf(cfg))
		return printOut(cmd, out, nil, err)
	}
	fits, err := fit(k, cfg)
	if err != nil {
		return err
	}
	out, notes, err := render(cfg)
	return printOut(cmd, out, append(fits, notes...), err)
}

// printOut prints a result, and with an error nothing of it.
func printOut(cmd *cobra.Command, out []byte, notes []string, err error) error {
	if err != nil {
		return err
	}
	for _, n := range notes {
		if _, err := fmt.Fprintln(cmd.ErrOrStderr(), "note: "+n); err != nil {
			return failed(err)
		}
	}
	_, err = cmd.OutOrStdout().Write(out)
	return failed(err)
}

// mostInput is how many bytes of a file that a flag names are read.
const mostInput = 4 << 20

// readInput reads a file that a flag names. Not being there is the command line's fault.
func readInput(flag, path string) ([]byte, error) {
	text, err := regular.ReadNamed(path, mostInput)
	if err != nil {
		return nil, fmt.Errorf("--%s: %s: %w", flag, path, err)
	}
	return text, nil
}

// addressesOf are the virtual addresses that stand for the apiservers: those of the first entry.
func addressesOf(cfg *config.Config) []netip.Addr { return cfg.VIPs[0].Bare() }

// endpointPort is the apiserver's port: that of the check of the first entry, if it is one on this node.
func endpointPort(cfg *config.Config) uint16 {
	return cmp.Or(localPort(cfg.VIPs[0].Check.Resolved().URL), 6443)
}
