package release

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/packaging/sbom"
)

// licences reads the licence of everything that is linked into any of the binaries, by module path.
func (r *Release) licences(ctx context.Context, all []built) (map[string]sbom.Licence, error) {
	paths := map[string]bool{}
	for _, b := range all {
		modules, err := sbom.Modules(b.binary)
		if err != nil {
			return nil, err
		}
		for _, m := range modules {
			paths[m.Path] = true
		}
	}
	delete(paths, sbom.Standard)
	dirs, err := r.moduleDirs(ctx, slices.Sorted(maps.Keys(paths)))
	if err != nil {
		return nil, err
	}
	out := map[string]sbom.Licence{}
	for path, dir := range dirs {
		if out[path], err = sbom.ReadLicence(dir); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// moduleDirs is where the modules are on this machine, the standard library among them.
func (r *Release) moduleDirs(ctx context.Context, paths []string) (map[string]string, error) {
	out, err := r.goCommand(ctx, append([]string{"list", "-m", "-json"}, paths...)...)
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("release: list the modules: %w", err)
		}
		dirs[m.Path] = m.Dir
	}
	root, err := r.goCommand(ctx, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs[sbom.Standard] = filepath.Clean(strings.TrimSpace(string(root)))
	return dirs, nil
}

func (r *Release) goCommand(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.Source
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("release: go %s: %w: %s", args[0], err, bytes.TrimSpace(errs.Bytes()))
	}
	return out, nil
}

// thirdParty is every licence with the modules that it is for, which a distribution has to pass on.
func thirdParty(licences map[string]sbom.Licence) []byte {
	var b strings.Builder
	b.WriteString("keepvip is under the Apache License 2.0. These libraries are part of the binary:\n")
	for _, path := range slices.Sorted(maps.Keys(licences)) {
		fmt.Fprintf(&b, "\n%s\n%s (%s)\n%s\n\n%s", strings.Repeat("=", 80), path, licences[path].ID, strings.Repeat("=", 80), licences[path].Text)
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n")
}
