// Package sbom says what a binary is made of: an SPDX 2.3 document in JSON, from what the compiler has written into the
// binary itself, the same bits for the same binary.
package sbom

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Module is one module that is linked into a binary.
type Module struct {
	Path, Version string
	Sum           string // of go.sum; empty for the standard library
}

// Standard is the path of the standard library among the modules.
const Standard = "stdlib"

// Modules lists what is linked into a binary, the standard library first.
func Modules(binary []byte) ([]Module, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("sbom: read the build information: %w", err)
	}
	modules := []Module{{Path: Standard, Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		modules = append(modules, Module{Path: d.Path, Version: d.Version, Sum: d.Sum})
	}
	return modules, nil
}

// Config describes the binary.
type Config struct {
	Name     string // of the binary's file
	Version  string
	Binary   []byte
	Created  time.Time
	Licences map[string]Licence // by the module's path
}

// product is the module of the program itself.
const product = "github.com/keepvip/keepvip"

// SPDX renders the document.
func SPDX(cfg Config) ([]byte, error) {
	modules, err := Modules(cfg.Binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(cfg.Binary)
	digest := hex.EncodeToString(sum[:])
	root := spdxPackage{
		ID: "SPDXRef-keepvip", Name: cfg.Name, Version: cfg.Version, Download: "NOASSERTION", Purpose: "APPLICATION",
		Concluded: "Apache-2.0", Declared: "Apache-2.0", Copyright: "NOASSERTION",
		Checksums: []checksum{{"SHA256", digest}}, External: []external{purl("golang/"+product, "v"+cfg.Version)},
	}
	doc := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: cfg.Name,
		Namespace: "https://" + product + "/spdx/" + cfg.Name + "-" + digest,
		Creation:  creation{Created: cfg.Created.UTC().Format(time.RFC3339), Creators: []string{"Organization: keepvip", "Tool: keepvip-release"}},
		Packages:  []spdxPackage{root},
		Relations: []relation{{"SPDXRef-DOCUMENT", "DESCRIBES", root.ID}},
	}
	for _, m := range modules {
		licence, ok := cfg.Licences[m.Path]
		if !ok {
			return nil, fmt.Errorf("sbom: no licence for %s", m.Path)
		}
		p := packageOf(m, licence)
		doc.Packages = append(doc.Packages, p)
		doc.Relations = append(doc.Relations, relation{root.ID, "STATIC_LINK", p.ID})
	}
	out, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return nil, fmt.Errorf("sbom: %w", err)
	}
	return append(out, '\n'), nil
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func packageOf(m Module, l Licence) spdxPackage {
	p := spdxPackage{
		ID: "SPDXRef-" + notInID.ReplaceAllString(m.Path, "-"), Name: m.Path, Version: m.Version,
		Download: "NOASSERTION", Concluded: l.ID, Declared: l.ID, Copyright: "NOASSERTION", Purpose: "LIBRARY",
		External: []external{purl("golang/"+m.Path, m.Version)},
	}
	if m.Sum != "" {
		p.Source = "go.sum: " + m.Sum
	}
	return p
}

func purl(name, version string) external {
	return external{"PACKAGE-MANAGER", "purl", "pkg:" + name + "@" + version}
}
