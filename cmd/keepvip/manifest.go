package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/kubeadm"
)

// imageName is where released images are.
const imageName = "ghcr.io/keepvip/keepvip"

func newManifest() *cobra.Command {
	cmd := &cobra.Command{Use: "manifest", Short: "Print what a node needs to run keepvip"}
	cmd.AddCommand(newManifestPod())
	return cmd
}

func newManifestPod() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pod",
		Short: "Print a static pod manifest",
		Long: "Prints a static pod manifest, the same for every control-plane node, to be put into\n" +
			kubeadm.ManifestPath + " before kubeadm init or join. It checks the configuration as\n" +
			"`run` would, but for the files that it names: those are on the nodes.",
		Example: "  keepvip manifest pod --vip 10.0.0.100 > keepvip.yaml\n  keepvip manifest pod --config keepvip.yaml --inline > pod.yaml",
		Args:    cobra.NoArgs,
	}
	image := cmd.Flags().String("image", imageName+":"+version, "the image, by tag or digest")
	inline := cmd.Flags().Bool("inline", false, "carry the configuration file's text in the manifest, instead of mounting the file from the node")
	flags := bindConfig(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		in := flags.input()
		in.Elsewhere = true
		cfg, err := config.Load(in)
		if err != nil {
			return err
		}
		out, err := kubeadm.Pod(podOf(cfg, *image, *inline))
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(out)
		return failed(err)
	}
	return cmd
}

// podOf is what the manifest needs of the configuration.
func podOf(cfg *config.Config, image string, inline bool) kubeadm.PodConfig {
	pod := kubeadm.PodConfig{
		Image: image, Args: cfg.Args(), KeyFile: cfg.Key.File,
		Realtime: cfg.Realtime, Socket: cfg.Socket, StateDir: cfg.StateDir, Metrics: cfg.Metrics,
	}
	switch {
	case cfg.Path == "":
	case inline || cfg.Path == config.EnvInline:
		pod.ConfigYAML = cfg.File
	default:
		pod.ConfigFile = cfg.Path
	}
	for _, k := range cfg.Key.Accept {
		pod.SecretFiles = append(pod.SecretFiles, k.File)
	}
	for _, v := range cfg.VIPs {
		if v.VRRP.PasswordFile != "" {
			pod.SecretFiles = append(pod.SecretFiles, v.VRRP.PasswordFile)
		}
		pod.CAFiles = append(pod.CAFiles, credentialFiles(v)...)
	}
	return pod
}

// credentialFiles are the files that the checks of v read.
func credentialFiles(v config.VIP) []string {
	var all []string
	add := func(paths ...string) {
		for _, p := range paths {
			if p != "" && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	add(v.Check.CA)
	for _, h := range v.Checks {
		add(h.CA, h.ClientCert, h.ClientKey, h.TokenFile)
	}
	return all
}
