// Package release makes everything that a version of keepvip consists of, the same bits each time.
package release

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/packaging/sbom"
	"github.com/keepvip/keepvip/packaging/signing"
)

// Release is one version to be made.
type Release struct {
	Version  Version
	Revision string    // of the sources, in git; may be empty
	Time     time.Time // of every file and document that is made
	Source   string    // the directory of the program's module
	Targets  []Target
	Key      *signing.Key // nil: nothing is signed
}

// Kinds of results.
const (
	Image    = "image"
	Packages = "packages"
	Archives = "archives"
	// Repositories are the packages, laid out for apt and dnf.
	Repositories = "repositories"
)

// Kinds lists all, each after what it is made of.
func Kinds() []string { return []string{Image, Packages, Archives, Repositories} }

// built is one target's binary with what belongs to it.
type built struct {
	Target
	binary          []byte
	spdx, cyclonedx []byte // what it is made of
}

// results collects files by name.
type results map[string][]byte

// Make makes the wanted kinds and returns the files by name, with SHA256SUMS among them.
func (r *Release) Make(ctx context.Context, kinds []string) (map[string][]byte, error) {
	all, err := r.compile(ctx)
	if err != nil {
		return nil, err
	}
	licences, err := r.licences(ctx, all)
	if err != nil {
		return nil, err
	}
	if err := r.describe(all, licences); err != nil {
		return nil, err
	}
	extra, err := r.extras(ctx, all, licences)
	if err != nil {
		return nil, err
	}
	out := results{}
	steps := map[string]func([]built, *extras, results) error{
		Image: r.image, Packages: r.packages, Archives: r.archives, Repositories: r.repositories,
	}
	for _, kind := range kinds {
		if err := steps[kind](all, extra, out); err != nil {
			return nil, err
		}
	}
	for _, b := range all {
		out[r.name(b.Target)+".spdx.json"] = b.spdx
		out[r.name(b.Target)+".cdx.json"] = b.cyclonedx
	}
	if whole(kinds) {
		if err := errors.Join(r.installers(out), r.withNotes(extra, out), r.attest(out)); err != nil {
			return nil, err
		}
	}
	out["SHA256SUMS"] = sums(out)
	return out, r.sign(out)
}

func (r *Release) name(t Target) string { return "keepvip-" + string(r.Version) + "-" + t.Name }

func (r *Release) compile(ctx context.Context) ([]built, error) {
	var all []built
	for _, t := range r.Targets {
		b, err := r.binary(ctx, t)
		if err != nil {
			return nil, err
		}
		all = append(all, built{Target: t, binary: b})
	}
	return all, nil
}

func (r *Release) describe(all []built, licences map[string]sbom.Licence) error {
	for i, b := range all {
		cfg := sbom.Config{Name: r.name(b.Target), Version: string(r.Version), Binary: b.binary, Created: r.Time, Licences: licences}
		var err error
		if all[i].spdx, err = sbom.SPDX(cfg); err != nil {
			return err
		}
		if all[i].cyclonedx, err = sbom.CycloneDX(cfg); err != nil {
			return err
		}
	}
	return nil
}

// sums is what sha256sum prints, and checks.
func sums(files results) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return []byte(b.String())
}

// Write puts the files into dir, which is made; whatever an earlier release has left there is removed.
func Write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	var old []string
	for _, pattern := range []string{"keepvip*", "SHA256SUMS*", "apt", "rpm"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return fmt.Errorf("release: %w", err)
		}
		old = append(old, found...)
	}
	for _, p := range old {
		if err := os.RemoveAll(p); err != nil {
			return fmt.Errorf("release: %w", err)
		}
	}
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("release: %w", err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fmt.Errorf("release: %w", err)
		}
	}
	return nil
}
