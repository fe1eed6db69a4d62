package release

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/packaging/archive"
	"github.com/keepvip/keepvip/packaging/image"
	"github.com/keepvip/keepvip/packaging/packages"
)

const documentation = "usr/share/doc/keepvip/"

// mostImage is what a node pulls at most, in octets: documents say so.
const mostImage = 10_000_000

// image makes one archive with the images of all targets.
func (r *Release) image(all []built, e *extras, out results) error {
	var platforms []image.Platform
	for _, b := range all {
		platforms = append(platforms, image.Platform{OS: "linux", Arch: b.Arch, Variant: b.Variant, Files: []archive.File{
			{Path: image.Binary, Mode: 0o755, Data: b.binary},
			{Path: documentation + "LICENSE", Mode: 0o644, Data: e.licence},
			{Path: documentation + "THIRD-PARTY-LICENSES.txt", Mode: 0o644, Data: e.thirdParty},
			{Path: documentation + "keepvip.spdx.json", Mode: 0o644, Data: b.spdx},
		}})
	}
	index, err := image.Index(image.Config{Labels: r.labels(), Created: r.Time}, platforms)
	if err != nil {
		return err
	}
	if err := image.AtMost(index, mostImage); err != nil {
		return err
	}
	data, err := image.Archive(index, e.image, r.Time)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	base := "keepvip-" + string(r.Version) + "-image"
	out[base+".tar"] = data
	// What a manifest may name instead of the tag.
	name, _, _ := strings.Cut(e.image, ":")
	out[base+".digest"] = []byte(name + "@" + digest.String() + "\n")
	return nil
}

func (r *Release) labels() map[string]string {
	const key = "org.opencontainers.image."
	labels := map[string]string{
		key + "title":         "keepvip",
		key + "description":   "A floating IP address for a Kubernetes control plane",
		key + "url":           "https://github.com/keepvip/keepvip",
		key + "source":        "https://github.com/keepvip/keepvip",
		key + "documentation": "https://github.com/keepvip/keepvip/tree/main/docs",
		key + "vendor":        "keepvip",
		key + "licenses":      "Apache-2.0",
		key + "version":       r.Version.Tag(),
		key + "created":       r.Time.UTC().Format(time.RFC3339),
	}
	if r.Revision != "" {
		labels[key+"revision"] = r.Revision
	}
	return labels
}

// packages makes a deb and an rpm of each target.
func (r *Release) packages(all []built, e *extras, out results) error {
	for _, b := range all {
		files, err := r.installed(b, e)
		if err != nil {
			return err
		}
		cfg := packages.Config{Version: string(r.Version), Deb: b.Deb, RPM: b.RPM, Time: r.Time, Files: files}
		if r.Key != nil {
			cfg.Sign = r.Key.Detached
		}
		for _, pack := range []func(packages.Config) (string, []byte, error){packages.Deb, packages.RPM} {
			name, data, err := pack(cfg)
			if err != nil {
				return err
			}
			out[name] = data
		}
	}
	return nil
}

// installed is every file of a package.
func (r *Release) installed(b built, e *extras) ([]packages.File, error) {
	changes, err := archive.Gzip(e.changelog)
	if err != nil {
		return nil, err
	}
	doc := "/" + documentation
	files := []packages.File{
		{Path: binaryPath, Data: b.binary, Mode: 0o755},
		{Path: "/usr/lib/systemd/system/keepvip.service", Data: e.unit, Mode: 0o644},
		{Path: configPath + ".example", Data: e.example, Mode: 0o640, Config: true},
		{Path: "/usr/share/bash-completion/completions/keepvip", Data: e.completions["bash"], Mode: 0o644},
		{Path: "/usr/share/fish/vendor_completions.d/keepvip.fish", Data: e.completions["fish"], Mode: 0o644},
		{Path: "/usr/share/zsh/vendor-completions/_keepvip", Data: e.completions["zsh"], Mode: 0o644, Only: "deb"},
		{Path: "/usr/share/zsh/site-functions/_keepvip", Data: e.completions["zsh"], Mode: 0o644, Only: "rpm"},
		{Path: doc + "changelog.gz", Data: changes, Mode: 0o644},
		{Path: doc + "keepvip.spdx.json", Data: b.spdx, Mode: 0o644},
		{Path: doc + "copyright", Data: e.copyright, Mode: 0o644, Only: "deb"},
		{Path: "/usr/share/licenses/keepvip/LICENSE", Data: e.copyright, Mode: 0o644, Only: "rpm"},
	}
	for _, name := range slices.Sorted(maps.Keys(e.documents)) {
		files = append(files, packages.File{Path: doc + name, Data: e.documents[name], Mode: 0o644})
	}
	for _, name := range slices.Sorted(maps.Keys(e.monitoring)) {
		files = append(files, packages.File{Path: doc + "monitoring/" + name, Data: e.monitoring[name], Mode: 0o644})
	}
	for _, p := range e.pages {
		text, err := archive.Gzip(p.Text)
		if err != nil {
			return nil, err
		}
		section := p.Name[len(p.Name)-1:]
		files = append(files, packages.File{Path: "/usr/share/man/man" + section + "/" + p.Name + ".gz", Data: text, Mode: 0o644})
	}
	return files, nil
}

// archives makes a tar archive of each target, for systems with other packages.
func (r *Release) archives(all []built, e *extras, out results) error {
	for _, b := range all {
		top := r.name(b.Target) + "/"
		files := []archive.File{
			{Path: top + "keepvip", Mode: 0o755, Data: b.binary},
			{Path: top + "keepvip.service", Mode: 0o644, Data: e.unit},
			{Path: top + "keepvip.yaml.example", Mode: 0o644, Data: e.example},
			{Path: top + "LICENSE", Mode: 0o644, Data: e.licence},
			{Path: top + "THIRD-PARTY-LICENSES.txt", Mode: 0o644, Data: e.thirdParty},
		}
		for shell, text := range e.completions {
			files = append(files, archive.File{Path: top + "completions/keepvip." + shell, Mode: 0o644, Data: text})
		}
		for name, text := range e.documents {
			files = append(files, archive.File{Path: top + name, Mode: 0o644, Data: text})
		}
		for name, text := range e.monitoring {
			files = append(files, archive.File{Path: top + "monitoring/" + name, Mode: 0o644, Data: text})
		}
		for _, p := range e.pages {
			files = append(files, archive.File{Path: top + "man/" + p.Name, Mode: 0o644, Data: p.Text})
		}
		data, err := archive.Tar(files, r.Time)
		if err != nil {
			return err
		}
		if out[r.name(b.Target)+".tar.gz"], err = archive.Gzip(data); err != nil {
			return err
		}
	}
	return nil
}
