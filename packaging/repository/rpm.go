package repository

import (
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/packaging/archive"
)

// RPM lays RPM packages out, which are given by the names of their files. signer may be nil: then dnf takes the repository only where it is
// told not to check it.
func RPM(rpms map[string][]byte, at time.Time, signer Signer) (map[string][]byte, error) {
	out := map[string][]byte{}
	primary := metadata{Space: "http://linux.duke.edu/metadata/common", RPM: "http://linux.duke.edu/metadata/rpm", name: "metadata"}
	files := metadata{Space: "http://linux.duke.edu/metadata/filelists", name: "filelists"}
	other := metadata{Space: "http://linux.duke.edu/metadata/other", name: "otherdata"}
	for _, name := range slices.Sorted(maps.Keys(rpms)) {
		p, err := describe("Packages/"+name, rpms[name], at)
		if err != nil {
			return nil, fmt.Errorf("repository: %s: %w", name, err)
		}
		out["Packages/"+name] = rpms[name]
		primary.Packages = append(primary.Packages, p.primary)
		files.Packages = append(files.Packages, p.files)
		other.Packages = append(other.Packages, p.other)
	}
	md := repomd{Space: "http://linux.duke.edu/metadata/repo", Revision: at.Unix()}
	for _, part := range []struct {
		kind string
		metadata
	}{{"primary", primary}, {"filelists", files}, {"other", other}} {
		data, path, packed, err := part.listed(part.kind, at)
		if err != nil {
			return nil, err
		}
		out[path], md.Data = packed, append(md.Data, data)
	}
	text, err := render(md)
	if err != nil {
		return nil, err
	}
	out["repodata/repomd.xml"] = text
	if signer != nil {
		if out["repodata/repomd.xml.asc"], err = signer.Armored(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// listed is a file of the repository's data as repomd.xml names it: with its sum in its name, so that a proxy never mixes two versions.
func (m metadata) listed(kind string, at time.Time) (d repoData, name string, packed []byte, err error) {
	m.XMLName, m.Count = xml.Name{Local: m.name}, len(m.Packages)
	text, err := render(m)
	if err != nil {
		return d, "", nil, err
	}
	if packed, err = archive.Gzip(text); err != nil {
		return d, "", nil, err
	}
	name = fmt.Sprintf("repodata/%x-%s.xml.gz", sha256.Sum256(packed), kind)
	return repoData{
		Type: kind, Checksum: sumOf(packed), Open: sumOf(text), Location: location{name}, Timestamp: at.Unix(),
		Size: len(packed), OpenSize: len(text),
	}, name, packed, nil
}

func sumOf(data []byte) checksum {
	return checksum{Type: "sha256", Sum: fmt.Sprintf("%x", sha256.Sum256(data))}
}

func render(doc any) ([]byte, error) {
	text, err := xml.MarshalIndent(doc, "", " ")
	if err != nil {
		return nil, fmt.Errorf("repository: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

// described is one package in each of the three files.
type described struct{ primary, files, other any }

// describe reads a package.
func describe(where string, rpm []byte, at time.Time) (described, error) {
	signature, h, err := readRPM(rpm)
	if err != nil {
		return described{}, err
	}
	id := sumOf(rpm)
	version := evr{Epoch: "0", Version: h.text(tagVersion), Release: h.text(tagRelease)}
	name, arch := h.text(tagName), h.text(tagArch)
	if name == "" || arch == "" || version.Version == "" {
		return described{}, fmt.Errorf("name %q, architecture %q, version %q: want all three", name, arch, version.Version)
	}
	all := filesOf(h)
	p := primaryPackage{
		Type: "rpm", Name: name, Arch: arch, Version: version, Checksum: packageSum{Type: id.Type, ID: "YES", Sum: id.Sum},
		Summary: h.text(tagSummary), Description: h.text(tagDescription), Packager: h.text(tagPackager), URL: h.text(tagURL),
		Time:     times{File: at.Unix(), Build: int64(h.number(tagBuildTime))},
		Size:     sizes{Package: len(rpm), Installed: h.number(tagSize), Archive: signature.number(tagPayloadLength)},
		Location: location{where},
		Format: format{
			License: h.text(tagLicense), Vendor: h.text(tagVendor), Group: h.text(tagGroup), BuildHost: h.text(tagBuildHost),
			Range:    headerRange{h.begin, h.end},
			Provides: relations(h, tagProvideName, tagProvideFlags, tagProvideValue),
			Requires: relations(h, tagRequireName, tagRequireFlags, tagRequireValue),
		},
	}
	for _, f := range all { // the rest is in filelists.xml
		if strings.HasPrefix(f.Path, "/etc/") || strings.Contains(f.Path, "bin/") {
			p.Format.Files = append(p.Format.Files, f)
		}
	}
	return described{
		primary: p,
		files:   listedPackage{PackageID: id.Sum, Name: name, Arch: arch, Version: version, Files: all},
		other:   listedPackage{PackageID: id.Sum, Name: name, Arch: arch, Version: version},
	}, nil
}

// filesOf lists the files and directories of a package.
func filesOf(h rpmHeader) (out []rpmFile) {
	dirs, indexes, modes := h.strings(tagDirNames), h.numbers(tagDirIndexes), h.numbers(tagFileModes)
	for i, base := range h.strings(tagBaseNames) {
		if i >= len(indexes) || int(indexes[i]) >= len(dirs) {
			break
		}
		f := rpmFile{Path: path.Join(dirs[indexes[i]], base)}
		if i < len(modes) && modes[i]&0o170000 == 0o040000 {
			f.Type = "dir"
		}
		out = append(out, f)
	}
	return out
}

// relations are what a package provides or requires. What rpm itself has to be able to do (rpmlib) is no package.
func relations(h rpmHeader, name, flags, version uint32) *entries {
	const less, greater, equal = 2, 4, 8
	comparison := map[uint32]string{less: "LT", greater: "GT", equal: "EQ", less | equal: "LE", greater | equal: "GE"}
	var out entries
	values, all := h.strings(version), h.numbers(flags)
	for i, n := range h.strings(name) {
		if strings.HasPrefix(n, "rpmlib(") {
			continue
		}
		r := relation{Name: n}
		if i < len(values) && i < len(all) && values[i] != "" {
			r.Flags, r.Epoch = comparison[all[i]&(less|greater|equal)], "0"
			r.Version, r.Release, _ = strings.Cut(values[i], "-")
		}
		out.Entries = append(out.Entries, r)
	}
	if len(out.Entries) == 0 {
		return nil
	}
	return &out
}
