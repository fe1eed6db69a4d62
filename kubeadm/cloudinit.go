package kubeadm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// File is one file that is written onto a node, owned by root.
type File struct {
	Path    string // absolute
	Content []byte
	Mode    fs.FileMode // permission bits
}

// The keys of user data that this package writes, or takes something out of.
const (
	cloudHeader   = "#cloud-config"
	cloudFilesKey = "write_files"
	cloudRunKey   = "runcmd"
	cloudBootKey  = "bootcmd"
)

type cloudConfig struct {
	WriteFiles []fileEntry `yaml:"write_files"`
	RunCmd     []command   `yaml:"runcmd,omitempty"`
}

// fileEntry is a file as cloud-init and Cluster API have it.
type fileEntry struct {
	Path        string       `yaml:"path"`
	Owner       string       `yaml:"owner"`
	Permissions string       `yaml:"permissions"`
	Encoding    string       `yaml:"encoding,omitempty"`
	Content     string       `yaml:"content,omitempty"`
	ContentFrom *contentFrom `yaml:"contentFrom,omitempty"` // Cluster API only
}

// command is an argument vector, written in one line.
type command []string

// MarshalYAML implements yaml.Marshaler.
func (c command) MarshalYAML() (any, error) {
	n := &yaml.Node{}
	if err := n.Encode([]string(c)); err != nil {
		return nil, err
	}
	n.Style = yaml.FlowStyle
	return n, nil
}

// CloudInit renders #cloud-config user data. The files are the manifest at [ManifestPath] or the unit at [UnitPath], a
// configuration, a key with mode 0600. The commands, such as {"systemctl", "enable", "--now", "keepvip"}, are run once,
// after the files are written. With an error nothing is rendered.
func CloudInit(files []File, commands [][]string) ([]byte, error) {
	out, err := userData(files, commands)
	if err != nil {
		return nil, err
	}
	return below(cloudHeader+"\n", out)
}

// below is a value as YAML below a header of comments.
func below(header string, value any) ([]byte, error) {
	e := yamledit.New("header", []byte(header))
	if err := e.Append(value); err != nil {
		return nil, err
	}
	return e.Bytes(), nil
}

func userData(files []File, commands [][]string) (cloudConfig, error) {
	var out cloudConfig
	if err := checkFiles(files); err != nil {
		return out, err
	}
	for _, f := range files {
		out.WriteFiles = append(out.WriteFiles, entryOf(f, "b64"))
	}
	for _, c := range commands {
		out.RunCmd = append(out.RunCmd, command(c))
	}
	return out, nil
}

// checkFiles refuses files that no node could have.
func checkFiles(files []File) error {
	if len(files) == 0 {
		return errors.New("kubeadm: no files, want at least a manifest")
	}
	seen := map[string]bool{}
	for _, f := range files {
		if err := checkPath("file", f.Path); err != nil {
			return err
		}
		if seen[f.Path] {
			return fmt.Errorf("kubeadm: file %s twice, want it once", f.Path)
		}
		seen[f.Path] = true
		if f.Mode.Perm() == 0 || f.Mode.Perm() != f.Mode {
			return fmt.Errorf("kubeadm: file %s with mode %v, want permission bits such as 0600", f.Path, f.Mode)
		}
	}
	return nil
}

// entryOf is a file's entry; binary is the word for base64, which bytes that are no text need.
func entryOf(f File, binary string) fileEntry {
	entry := fileEntry{
		Content: string(f.Content), Owner: "root:root", Path: f.Path, Permissions: fmt.Sprintf("%04o", f.Mode.Perm()),
	}
	if !utf8.Valid(f.Content) {
		entry.Content, entry.Encoding = base64.StdEncoding.EncodeToString(f.Content), binary
	}
	return entry
}
