package release

import (
	"errors"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/packaging/archive"
	"github.com/keepvip/keepvip/packaging/provenance"
	"github.com/keepvip/keepvip/packaging/repository"
)

// Names of the public key that verifies a release.
const (
	publicPEM     = "keepvip-release.pem"
	publicOpenPGP = "keepvip-release.asc"
)

// repositories lays out the packages that are there already.
func (r *Release) repositories(_ []built, _ *extras, out results) error {
	debs, rpms := out.ending(".deb"), out.ending(".rpm")
	if len(debs) == 0 {
		return errors.New("release: repositories without packages, want both: -only packages,repositories")
	}
	// A nil *Key in the interface would not be nil.
	var signer repository.Signer
	if r.Key != nil {
		signer = r.Key
	}
	apt, err := repository.Apt(debs, r.Time, signer)
	if err != nil {
		return err
	}
	rpm, err := repository.RPM(rpms, r.Time, signer)
	if err != nil {
		return err
	}
	if r.Key != nil {
		public, err := r.Key.PublicOpenPGP()
		if err != nil {
			return err
		}
		apt[publicOpenPGP], rpm[publicOpenPGP] = public, public
	}
	// A page of downloads has files and no directories: there each repository is one archive.
	for kind, files := range map[string]map[string][]byte{"apt": apt, "rpm": rpm} {
		var packed []archive.File
		for name, data := range files {
			out[kind+"/"+name] = data
			packed = append(packed, archive.File{Path: kind + "/" + name, Mode: 0o644, Data: data})
		}
		if out["keepvip-"+string(r.Version)+"-"+kind+".tar"], err = archive.Tar(packed, r.Time); err != nil {
			return err
		}
	}
	return nil
}

// ending are the files at the top whose names end so.
func (out results) ending(suffix string) map[string][]byte {
	found := map[string][]byte{}
	for name, data := range out {
		if strings.HasSuffix(name, suffix) && path.Dir(name) == "." {
			found[name] = data
		}
	}
	return found
}

// attest adds the statement about all files that are there, and its signed form if there is a key.
func (r *Release) attest(out results) error {
	var platforms []string
	for _, t := range r.Targets {
		platforms = append(platforms, t.Name)
	}
	statement, err := provenance.Statement(provenance.Config{
		Version: r.Version.Tag(), Revision: r.Revision, Platforms: platforms, Toolchain: runtime.Version(), Time: r.Time, Files: maps.Clone(out),
	})
	if err != nil {
		return err
	}
	base := "keepvip-" + string(r.Version)
	out[base+".provenance.json"] = statement
	if r.Key == nil {
		return nil
	}
	out[base+".intoto.jsonl"], err = provenance.Envelope(statement, r.Key.Sign)
	return err
}

// sign signs the checksums, and adds the public key.
func (r *Release) sign(out results) error {
	if r.Key == nil {
		return nil
	}
	sums := out["SHA256SUMS"]
	for name, of := range map[string]func() ([]byte, error){
		"SHA256SUMS.sig": func() ([]byte, error) { return r.Key.Sign(sums) },
		"SHA256SUMS.asc": func() ([]byte, error) { return r.Key.Armored(sums) },
		publicPEM:        r.Key.PublicPEM,
		publicOpenPGP:    r.Key.PublicOpenPGP,
	} {
		data, err := of()
		if err != nil {
			return err
		}
		out[name] = data
	}
	return nil
}

// whole reports whether everything is made.
func whole(kinds []string) bool {
	return !slices.ContainsFunc(Kinds(), func(k string) bool { return !slices.Contains(kinds, k) })
}

// withNotes adds the notes of the version.
func (r *Release) withNotes(e *extras, out results) error {
	text, err := notes(e.changelog, r.Version)
	if err != nil {
		return err
	}
	out["keepvip-"+string(r.Version)+"-notes.md"] = text
	return nil
}
