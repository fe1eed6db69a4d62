// Package packages makes the deb and rpm packages.
package packages

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

//go:embed scripts
var scripts embed.FS

// File is one file that a package installs, owned by root.
type File struct {
	Path   string // absolute, on the host
	Data   []byte
	Mode   fs.FileMode
	Config bool   // what an administrator has changed stays at an upgrade
	Only   string // "deb", "rpm"; "": both
}

// Config is what a package is made of.
type Config struct {
	Version string // "1.2.3-rc.1"
	Deb     string // the architecture, as each format names it
	RPM     string
	Time    time.Time
	Files   []File
	Sign    func(data []byte) ([]byte, error) // makes the OpenPGP signatures of an rpm; nil: it has none
}

// ConfigDir is the directory of configuration and key, for root alone.
const ConfigDir = "/etc/keepvip"

// Deb makes a Debian package and its customary name.
func Deb(cfg Config) (name string, data []byte, err error) {
	return cfg.make(deb.Default, "deb", cfg.Deb)
}

// RPM makes an RPM package and its customary name.
func RPM(cfg Config) (name string, data []byte, err error) {
	return cfg.make(rpm.DefaultRPM, "rpm", cfg.RPM)
}

func (cfg Config) make(packager nfpm.Packager, format, arch string) (string, []byte, error) {
	dir, err := os.MkdirTemp("", "keepvip-package-")
	if err != nil {
		return "", nil, fmt.Errorf("packages: %w", err)
	}
	defer os.RemoveAll(dir)
	info, err := cfg.info(dir, format, arch)
	if err != nil {
		return "", nil, fmt.Errorf("packages: %s: %w", format, err)
	}
	name := packager.ConventionalFileName(info)
	var buf bytes.Buffer
	if err := packager.Package(info, &buf); err != nil {
		return "", nil, fmt.Errorf("packages: %s: %w", name, err)
	}
	return name, buf.Bytes(), nil
}

// info describes the package; the contents of its files are put below dir.
func (cfg Config) info(dir, format, arch string) (*nfpm.Info, error) {
	contents, err := cfg.contents(dir, format)
	if err != nil {
		return nil, err
	}
	script, err := scriptsOf(dir, format)
	if err != nil {
		return nil, err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "keepvip", Arch: arch, Platform: "linux", Version: cfg.Version, Release: "1",
		Section: "net", Priority: "optional", License: "Apache-2.0",
		Maintainer: maintainer, Vendor: "keepvip", Homepage: "https://github.com/keepvip/keepvip",
		Description: description, MTime: cfg.Time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents, Scripts: script},
	})
	info.Deb.Compression, info.Deb.Arch, info.Deb.Fields = "xz", arch, map[string]string{"Bugs": reports}
	// The default is the name of this machine.
	info.RPM.Arch, info.RPM.BuildHost, info.RPM.Summary, info.RPM.Packager = arch, "keepvip", summary, maintainer
	if cfg.Sign != nil {
		info.RPM.Signature.SignFn = cfg.signFrom
	}
	return info, nfpm.Validate(info)
}

func (cfg Config) signFrom(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return cfg.Sign(data)
}

const (
	// maintainer has an address of the project's own account at its forge: nobody else can have it. Mail is refused there; reports go
	// to the page that the packages name.
	maintainer = "keepvip maintainers <keepvip@users.noreply.github.com>"
	reports    = "https://github.com/keepvip/keepvip/issues"

	summary     = "floating IP address for a Kubernetes control plane"
	description = summary + `
keepvip keeps a virtual IP address on one of several nodes. It speaks VRRP
(RFC 9568), and the address follows the health of the local apiserver. A
lease in the kernel silences the address on a node whose keepvip is gone.`
)

func (cfg Config) contents(dir, format string) (files.Contents, error) {
	dirs := map[string]fs.FileMode{ConfigDir: 0o750}
	for _, f := range cfg.Files {
		if f.Only != "" && f.Only != format {
			continue
		}
		// With rpm, a directory that belongs to no package outlives them.
		for dir := path.Dir(f.Path); strings.Contains(dir+"/", "/keepvip/") && dir != ConfigDir; dir = path.Dir(dir) {
			dirs[dir] = 0o755
		}
	}
	var out files.Contents
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		out = append(out, &files.Content{
			Destination: dir, Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Mode: dirs[dir], MTime: cfg.Time},
		})
	}
	for i, f := range cfg.Files {
		if f.Only != "" && f.Only != format {
			continue
		}
		source, err := put(dir, fmt.Sprintf("file-%d", i), f.Data, f.Mode)
		if err != nil {
			return nil, err
		}
		kind := files.TypeFile
		if f.Config {
			kind = files.TypeConfigNoReplace
		}
		out = append(out, &files.Content{
			Source: source, Destination: f.Path, Type: kind,
			FileInfo: &files.ContentFileInfo{Mode: f.Mode, MTime: cfg.Time},
		})
	}
	return out, nil
}

func scriptsOf(dir, format string) (nfpm.Scripts, error) {
	var s nfpm.Scripts
	for name, at := range map[string]*string{"postinst": &s.PostInstall, "prerm": &s.PreRemove, "postrm": &s.PostRemove} {
		text, err := scripts.ReadFile("scripts/" + format + "/" + name)
		if err != nil {
			return nfpm.Scripts{}, err
		}
		if *at, err = put(dir, "script-"+name, text, 0o755); err != nil {
			return nfpm.Scripts{}, err
		}
	}
	return s, nil
}

func put(dir, name string, data []byte, mode fs.FileMode) (string, error) {
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, data, mode); err != nil {
		return "", err
	}
	return p, os.Chmod(p, mode)
}
