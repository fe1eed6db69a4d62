package release

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/keepvip/keepvip/kubeadm"
	"github.com/keepvip/keepvip/packaging/manual"
	"github.com/keepvip/keepvip/packaging/sbom"
)

// extras is what is the same for every target.
type extras struct {
	licence, thirdParty, copyright, changelog, example, unit []byte

	documents   map[string][]byte // by path in the sources
	pages       []manual.Page
	completions map[string][]byte // by shell
	monitoring  map[string][]byte // by name
	image       string            // the image that manifests of this version name
}

// Paths that the packages' unit and configuration have.
const (
	binaryPath = "/usr/bin/keepvip"
	configPath = "/etc/keepvip/keepvip.yaml"
	socketPath = "/run/keepvip/keepvip.sock"
	statePath  = "/var/lib/keepvip"
)

func (r *Release) extras(ctx context.Context, all []built, licences map[string]sbom.Licence) (*extras, error) {
	e := &extras{thirdParty: thirdParty(licences), completions: map[string][]byte{}, monitoring: map[string][]byte{}}
	var err error
	for path, at := range map[string]*[]byte{"LICENSE": &e.licence, "CHANGELOG.md": &e.changelog, "packaging/keepvip.yaml.example": &e.example} {
		if *at, err = os.ReadFile(filepath.Join(r.Source, path)); err != nil {
			return nil, fmt.Errorf("release: %w", err)
		}
	}
	e.copyright = copyright(e.licence, licences)
	if e.documents, err = r.documents(); err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(r.Source, "packaging/monitoring/*"))
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	for _, path := range names {
		if e.monitoring[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("release: %w", err)
		}
	}
	if e.unit, err = Unit(); err != nil {
		return nil, err
	}
	return e, r.ask(ctx, all, e)
}

// Unit is the unit of the packages.
func Unit() ([]byte, error) {
	return kubeadm.Systemd(kubeadm.UnitConfig{
		Binary: binaryPath, Node: kubeadm.Node{Args: []string{"--config=" + configPath}, Socket: socketPath, StateDir: statePath},
	})
}

// ask has the program describe itself.
func (r *Release) ask(ctx context.Context, all []built, e *extras) error {
	program, remove, err := r.hostProgram(ctx, all)
	if err != nil {
		return err
	}
	defer remove()
	tree, err := run(ctx, program, "commands")
	if err != nil {
		return err
	}
	if e.pages, err = manual.Commands(tree, r.Version.Tag(), r.Time); err != nil {
		return err
	}
	reference, err := os.ReadFile(filepath.Join(r.Source, "docs/configuration.md"))
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	e.pages = append(e.pages, manual.Configuration(reference, r.Version.Tag(), r.Time))
	for _, shell := range []string{"bash", "fish", "zsh"} {
		if e.completions[shell], err = run(ctx, program, "completion", shell); err != nil {
			return err
		}
	}
	e.image, err = imageName(tree)
	return err
}

// hostProgram puts the program for this machine into a file.
func (r *Release) hostProgram(ctx context.Context, all []built) (path string, remove func(), err error) {
	i := slices.IndexFunc(all, func(b built) bool { return b.Arch == runtime.GOARCH })
	var binary []byte
	if i >= 0 {
		binary = all[i].binary
	} else if binary, err = r.binary(ctx, Target{Name: "this machine", Arch: runtime.GOARCH}); err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "keepvip-host-")
	if err != nil {
		return "", nil, fmt.Errorf("release: %w", err)
	}
	path = filepath.Join(dir, "keepvip")
	if err := os.WriteFile(path, binary, 0o755); err != nil {
		return "", nil, fmt.Errorf("release: %w", err)
	}
	return path, func() { _ = os.RemoveAll(dir) }, nil
}

// imageName is the default of `keepvip manifest pod --image`, so that the two can never differ.
func imageName(tree []byte) (string, error) {
	var root manual.Command
	if err := json.Unmarshal(tree, &root); err != nil {
		return "", fmt.Errorf("release: the commands: %w", err)
	}
	for _, c := range root.Commands {
		for _, sub := range c.Commands {
			for _, f := range sub.Flags {
				if sub.Path == "keepvip manifest pod" && f.Name == "image" {
					return f.Default, nil
				}
			}
		}
	}
	return "", fmt.Errorf("release: keepvip manifest pod has no flag --image")
}
