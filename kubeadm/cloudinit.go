package kubeadm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// File is one file that cloud-init writes, owned by root.
type File struct {
	Path    string // absolute
	Content []byte
	Mode    fs.FileMode // permission bits
}

// CloudInitConfig is what user data is made of.
type CloudInitConfig struct {
	Files    []File     // the manifest at [ManifestPath] or the unit at [UnitPath], a configuration, a key with mode 0600
	Commands [][]string // run once, after the files are written: {"systemctl", "enable", "--now", "keepvip"}
}

type cloudConfig struct {
	RunCmd     [][]string      `json:"runcmd,omitempty"`
	WriteFiles []cloudInitFile `json:"write_files"`
}

type cloudInitFile struct {
	Content     string `json:"content"`
	Encoding    string `json:"encoding,omitempty"`
	Owner       string `json:"owner"`
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
}

// CloudInit renders #cloud-config user data. With an error nothing is rendered.
func CloudInit(cfg CloudInitConfig) ([]byte, error) {
	if len(cfg.Files) == 0 {
		return nil, errors.New("kubeadm: no files, want at least a manifest")
	}
	out := cloudConfig{RunCmd: cfg.Commands}
	seen := map[string]bool{}
	for _, f := range cfg.Files {
		if err := checkPath("file", f.Path); err != nil {
			return nil, err
		}
		if seen[f.Path] {
			return nil, fmt.Errorf("kubeadm: file %s twice, want it once", f.Path)
		}
		seen[f.Path] = true
		if f.Mode.Perm() == 0 || f.Mode.Perm() != f.Mode {
			return nil, fmt.Errorf("kubeadm: file %s with mode %v, want permission bits such as 0600", f.Path, f.Mode)
		}
		out.WriteFiles = append(out.WriteFiles, cloudInitEntry(f))
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("kubeadm: render user data: %w", err)
	}
	return append([]byte("#cloud-config\n"), text...), nil
}

func cloudInitEntry(f File) cloudInitFile {
	entry := cloudInitFile{
		Content: string(f.Content), Owner: "root:root", Path: f.Path, Permissions: fmt.Sprintf("%04o", f.Mode.Perm()),
	}
	if !utf8.Valid(f.Content) {
		entry.Content, entry.Encoding = base64.StdEncoding.EncodeToString(f.Content), "b64"
	}
	return entry
}
