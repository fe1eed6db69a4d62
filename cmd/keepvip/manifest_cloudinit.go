package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/kubeadm"
)

// nodeConfigPath is where a configuration file is put on a node.
const nodeConfigPath = "/etc/keepvip/keepvip.yaml"

// nodeForm is how keepvip is to run on a node that is set up by somebody else's files and commands.
type nodeForm struct {
	image, binary, path *string
	systemd             *bool
}

func bindNodeForm(cmd *cobra.Command) nodeForm {
	return nodeForm{
		image:   bindImage(cmd),
		systemd: cmd.Flags().Bool("systemd", false, "a systemd unit instead of a static pod; keepvip has to be installed on the nodes"),
		binary:  cmd.Flags().String("binary", packagedBinary, "where keepvip is installed on the nodes"),
		path:    cmd.Flags().String("manifest-path", kubeadm.ManifestPath, "where the static pod's manifest goes on the nodes"),
	}
}

// files are what a node needs, keys left out, and the commands that start it.
func (f nodeForm) files(cfg *config.Config) (files []kubeadm.File, commands [][]string, err error) {
	onNode := ""
	if cfg.Converted {
		return nil, nil, fmt.Errorf("%s is one node's, and this is for all nodes, want --config with the file that keepvip convert prints", cfg.Path)
	}
	if cfg.Path != "" {
		onNode = nodeConfigPath
		files = append(files, kubeadm.File{Path: onNode, Content: cfg.File, Mode: 0o644})
	}
	if *f.systemd {
		unit, err := kubeadm.Systemd(unitOf(cfg, *f.binary, onNode))
		return append(files, kubeadm.File{Path: kubeadm.UnitPath, Content: unit, Mode: 0o644}),
			[][]string{{"systemctl", "daemon-reload"}, {"systemctl", "enable", "--now", "keepvip"}}, err
	}
	pod, err := podOf(cfg, *f.image)
	if err != nil {
		return nil, nil, err
	}
	pod.ConfigFile = onNode
	manifest, err := kubeadm.Pod(pod)
	return append(files, kubeadm.File{Path: *f.path, Content: manifest, Mode: 0o600}), nil, err
}

// notes are those of the static pod's image, or of the unit.
func (f nodeForm) notes(cfg *config.Config) []string {
	if *f.systemd {
		return hiddenNotes(cfg, unitOf(cfg, *f.binary, nodeConfigPath))
	}
	return imageNotes(*f.image)
}

func newManifestCloudInit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cloud-init",
		Short: "Print #cloud-config user data, or merge into one",
		Long: "Prints #cloud-config user data that puts keepvip onto a node before kubeadm runs: the manifest or the unit, the\n" +
			"configuration file, and the key for root alone. With --merge the same goes into user data that is there already; every\n" +
			"line of it that is not keepvip's stays as it is.",
		Example: "  keepvip manifest cloud-init --vip 10.0.0.100 --merge user-data > user-data.new\n" +
			"  keepvip manifest cloud-init --systemd --config my.yaml --key-from ./key > user-data",
		Args: noArguments,
	}
	form := bindNodeForm(cmd)
	merge := cmd.Flags().String("merge", "", "user data to merge into")
	keyFrom := cmd.Flags().String("key-from", "", "a key file here, to be written as key.file on the nodes; whoever can read the user data can read it")
	flags := bindManifest(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return flags.run(cmd, func(cfg *config.Config) ([]byte, []string, error) {
			files, commands, err := form.files(cfg)
			if err != nil {
				return nil, nil, err
			}
			key, err := keyContents(cfg, *keyFrom)
			if err != nil {
				return nil, nil, err
			}
			notes := form.notes(cfg)
			for _, f := range secretFiles(cfg) {
				if f == cfg.Key.File && key != nil {
					files = append(files, kubeadm.File{Path: f, Content: key, Mode: 0o600})
					continue
				}
				notes = append(notes, fmt.Sprintf("the user data does not carry %s: put it onto every node before, for root alone (mode 0600), or use --key-from for the key", f))
			}
			if *merge == "" {
				out, err := kubeadm.CloudInit(files, commands)
				return out, notes, err
			}
			old, err := readInput("merge", *merge)
			if err != nil {
				return nil, nil, err
			}
			out, err := kubeadm.MergeCloudInit(*merge, old, files, commands)
			return out, notes, err
		})
	}
	return cmd
}

// keyContents reads the key that goes into the user data; nil without one.
func keyContents(cfg *config.Config, path string) ([]byte, error) {
	switch {
	case path == "":
		return nil, nil
	case cfg.Key.File == "":
		return nil, errors.New("--key-from without key.file, want --key-file with the key's path on the nodes, too")
	}
	if _, err := config.LoadKey(path); err != nil {
		return nil, fmt.Errorf("--key-from: %w", err)
	}
	key, err := config.ReadSecret(path)
	if err != nil {
		return nil, fmt.Errorf("--key-from: %w", err)
	}
	return key, nil
}
