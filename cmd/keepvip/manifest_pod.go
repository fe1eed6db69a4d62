package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/kubeadm"
)

func newManifestPod() *cobra.Command {
	return manifestOfPod(&cobra.Command{
		Use:   "pod",
		Short: "Print a static pod manifest",
		Long: "Prints a static pod manifest, the same for every control-plane node, to be put into\n" +
			kubeadm.ManifestPath + " before kubeadm init or join.",
		Example: "  keepvip manifest pod --vip 10.0.0.100 > keepvip.yaml\n" +
			"  keepvip manifest pod --config my.yaml --image registry.example/keepvip@sha256:... > keepvip.yaml\n" +
			"  keepvip manifest pod --kubeadm-config kubeadm.yaml > keepvip.yaml",
	}, kubeadm.Pod)
}

func newManifestDaemonSet() *cobra.Command {
	return manifestOfPod(&cobra.Command{
		Use:   "daemonset",
		Short: "Print a DaemonSet manifest, as for k3s and RKE2",
		Long: "Prints a DaemonSet that runs keepvip on every control-plane node, for clusters that are not made by kubeadm. It needs an\n" +
			"apiserver to start the first time; a static pod or the systemd unit does not.",
		Example: "  keepvip manifest daemonset --vip 10.0.0.100 --check k3s \\\n" +
			"      > /var/lib/rancher/k3s/server/manifests/keepvip.yaml",
	}, kubeadm.DaemonSet)
}

func manifestOfPod(cmd *cobra.Command, render func(kubeadm.PodConfig) ([]byte, error)) *cobra.Command {
	cmd.Args = noArguments
	image := bindImage(cmd)
	follower := bindFollower(cmd)
	inline := cmd.Flags().Bool("inline", true, "carry the configuration file's text in the manifest; false: mount the file from the node")
	flags := bindManifest(cmd)
	flags.conf.options.InMemory = false // the text is carried, and its secrets are files of the nodes
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return flags.run(cmd, func(cfg *config.Config) ([]byte, []string, error) {
			of := podOf
			if *follower {
				of = followerPodOf
			}
			pod, err := of(cfg, *image)
			if err != nil {
				return nil, nil, err
			}
			switch {
			case cfg.Path == "":
			case *inline || cfg.Path == config.EnvInline || cfg.Converted:
				pod.ConfigYAML = cfg.File
			default:
				pod.ConfigFile = cfg.Path
			}
			out, err := render(pod)
			if *follower {
				return out, append(imageNotes(*image), followerNotes(cfg)...), err
			}
			return out, append(imageNotes(*image), keyNotes(cfg)...), err
		})
	}
	return cmd
}

// bindFollower gives cmd the flag for hosts that are no members.
func bindFollower(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("follower", false, "for a host that is no member: it runs keepvip follow (docs/followers.md)")
}

// followerPodOf is podOf for a host that is no member: of what the configuration names it needs its own key, and what its metrics are served with.
func followerPodOf(cfg *config.Config, image string) (kubeadm.PodConfig, error) {
	if err := followable(cfg); err != nil {
		return kubeadm.PodConfig{}, err
	}
	return kubeadm.PodConfig{
		Node:  kubeadm.Node{Args: cfg.Args(), Socket: cfg.Socket, StateDir: cfg.StateDir, Follower: true, Unsigned: cfg.Follow.KeyFile == ""},
		Image: image, KeyFile: cfg.Follow.KeyFile, Metrics: cfg.Metrics.Local(), MetricsPort: cfg.Metrics.ExposedPort(),
		SecretFiles: metricsSecrets(cfg.Metrics), CAFiles: metricsCertificate(cfg.Metrics),
	}, nil
}

// followable refuses what a follower on another host would refuse.
func followable(cfg *config.Config) error {
	switch {
	case len(cfg.Followed()) == 0:
		return errors.New("--follower: no entry under vips is spread over its members, want one with spread: direct: a follower follows those")
	case cfg.Key.File != "" && cfg.Follow.KeyFile == "":
		return fmt.Errorf("--follower: key.file %s is the members' key, want follow.keyFile with the followers' one (keepvip key derive makes it)", cfg.Key.File)
	}
	return nil
}

// followerNotes says what no manifest carries.
func followerNotes(cfg *config.Config) []string {
	var out []string
	if cfg.Follow.KeyFile != "" {
		out = append(out, fmt.Sprintf("the manifest does not carry %s: make it by keepvip key derive, and put it onto every worker, for root alone (mode 0600)", cfg.Follow.KeyFile))
	}
	for _, f := range metricsSecrets(cfg.Metrics) {
		out = append(out, fmt.Sprintf("the manifest does not carry %s: put it onto every worker, for root alone (mode 0600)", f))
	}
	return out
}

func bindImage(cmd *cobra.Command) *string {
	return cmd.Flags().String("image", defaultImage(), "the image, by tag or digest")
}

// defaultImage is the image of this program's version.
func defaultImage() string { return imageName + ":" + programVersion() }

// imageNotes says where the image comes from, if no registry can have it.
func imageNotes(image string) []string {
	if image != defaultImage() || released(programVersion()) {
		return nil
	}
	return []string{fmt.Sprintf("no registry has the image %s, because this keepvip is no release: make it by make image and import it on every node (docs/install.md), or name another one by --image", image)}
}

// keyNotes says what no manifest carries.
func keyNotes(cfg *config.Config) []string {
	var out []string
	for _, f := range secretFiles(cfg) {
		out = append(out, fmt.Sprintf("the manifest does not carry %s: put it onto every node, for root alone (mode 0600)", f))
	}
	return out
}

// secretFiles are the files that hold keys and passwords.
func secretFiles(cfg *config.Config) []string {
	var out []string
	if cfg.Key.File != "" {
		out = append(out, cfg.Key.File)
	}
	for _, k := range cfg.Key.Accept {
		out = append(out, k.File)
	}
	out = append(out, metricsSecrets(cfg.Metrics)...)
	for _, v := range cfg.VIPs {
		if v.VRRP.PasswordFile != "" {
			out = append(out, v.VRRP.PasswordFile)
		}
	}
	if ownCertificates(cfg) {
		out = append(out, cfg.Raft.Certificate)
		if cfg.Raft.PrivateKey != cfg.Raft.Certificate {
			out = append(out, cfg.Raft.PrivateKey)
		}
	}
	return out
}

// ownCertificates tells that members of Raft know each other by certificate files. An entry that is external may come back.
func ownCertificates(cfg *config.Config) bool {
	return cfg.Raft.OwnCertificates() && slices.ContainsFunc(cfg.VIPs, func(v config.VIP) bool { return v.Election == config.ElectionRaft })
}

// metricsSecrets are the files with secrets that other hosts are told the metrics with.
func metricsSecrets(m config.Metrics) (out []string) {
	for _, f := range []string{cmp.Or(m.PrivateKey, m.Certificate), m.TokenFile} {
		if f != "" {
			out = append(out, f)
		}
	}
	return out
}

// metricsCertificate is the certificate that has its key in another file.
func metricsCertificate(m config.Metrics) []string {
	if m.PrivateKey == "" {
		return nil
	}
	return []string{m.Certificate}
}

// nodeOf is what a pod and a unit need alike.
func nodeOf(cfg *config.Config) kubeadm.Node {
	return kubeadm.Node{
		Args: cfg.Args(), Socket: cfg.Socket, StateDir: cfg.StateDir, Realtime: cfg.Realtime, Tun: slices.ContainsFunc(cfg.VIPs, config.VIP.Routed),
	}
}

// podOf is what the manifest needs of the configuration, but for the configuration itself.
func podOf(cfg *config.Config, image string) (kubeadm.PodConfig, error) {
	pod := kubeadm.PodConfig{
		Node: nodeOf(cfg), Image: image, KeyFile: cfg.Key.File, Metrics: cfg.Metrics.Local(), MetricsPort: cfg.Metrics.ExposedPort(),
	}
	for _, f := range secretFiles(cfg) {
		if f != cfg.Key.File {
			pod.SecretFiles = append(pod.SecretFiles, f)
		}
	}
	pod.CAFiles = metricsCertificate(cfg.Metrics)
	if ownCertificates(cfg) {
		pod.CAFiles = append(pod.CAFiles, cfg.Raft.CA)
	}
	if cfg.FIFO.Path != "" {
		return pod, errors.New("notifyFIFO.path, but nobody outside the pod could read a pipe that is made in it; use manifest systemd")
	}
	for i, v := range cfg.VIPs {
		if len(v.Hooks) > 0 {
			return pod, fmt.Errorf("vips[%d].hooks, but a pod has neither their programs nor the right to change the user; use manifest systemd", i)
		}
		pod.CAFiles = append(pod.CAFiles, credentialFiles(v)...)
		for j, h := range v.Checks {
			if h.Kind == config.CheckExec {
				return pod, fmt.Errorf("vips[%d].checks[%d] (%s): kind exec, but a pod has neither its program nor the right to change the user; use manifest systemd", i, j, h.Name)
			}
			if h.Path != "" {
				pod.Watched = append(pod.Watched, h.Path)
			}
			pod.Processes = pod.Processes || h.Process != ""
		}
	}
	return pod, nil
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
	for _, h := range v.AllChecks() {
		add(h.CA, h.ClientCert, h.ClientKey, h.TokenFile)
	}
	for _, b := range v.Spread.Backends {
		if h, asked := v.BackendCheck(b); asked {
			add(h.CA)
		}
	}
	return all
}
