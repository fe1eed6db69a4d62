package sbom

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// The part of CycloneDX 1.6 that is written.

type cdxDocument struct {
	Format       string          `json:"bomFormat"`
	SpecVersion  string          `json:"specVersion"`
	Serial       string          `json:"serialNumber"`
	Version      int             `json:"version"`
	Metadata     cdxMetadata     `json:"metadata"`
	Components   []cdxComponent  `json:"components"`
	Dependencies []cdxDependency `json:"dependencies"`
}

type cdxMetadata struct {
	Timestamp string       `json:"timestamp"`
	Component cdxComponent `json:"component"`
}

type cdxComponent struct {
	Type       string        `json:"type"`
	Ref        string        `json:"bom-ref"`
	Name       string        `json:"name"`
	Version    string        `json:"version"`
	Hashes     []cdxHash     `json:"hashes,omitempty"`
	Licenses   []cdxLicence  `json:"licenses"`
	PURL       string        `json:"purl"`
	Properties []cdxProperty `json:"properties,omitempty"`
}

type cdxHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// cdxLicence is an SPDX expression, which one name is, too.
type cdxLicence struct {
	Expression string `json:"expression"`
}

type cdxProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type cdxDependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// CycloneDX renders the same facts as [SPDX], for the tools that read the other format.
func CycloneDX(cfg Config) ([]byte, error) {
	modules, err := Modules(cfg.Binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(cfg.Binary)
	root := cdxComponent{
		Type: "application", Ref: "pkg:golang/" + product + "@v" + cfg.Version, Name: cfg.Name, Version: cfg.Version,
		Hashes: []cdxHash{{"SHA-256", hex.EncodeToString(sum[:])}}, Licenses: []cdxLicence{{"Apache-2.0"}},
	}
	root.PURL = root.Ref
	doc := cdxDocument{
		Format: "CycloneDX", SpecVersion: "1.6", Serial: serial(sum), Version: 1,
		Metadata: cdxMetadata{Timestamp: cfg.Created.UTC().Format(time.RFC3339), Component: root},
	}
	depends := cdxDependency{Ref: root.Ref}
	for _, m := range modules {
		licence, ok := cfg.Licences[m.Path]
		if !ok {
			return nil, fmt.Errorf("sbom: no licence for %s", m.Path)
		}
		c := cdxComponent{Type: "library", Name: m.Path, Version: m.Version, Licenses: []cdxLicence{{licence.ID}}, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
		c.Ref = c.PURL
		if m.Sum != "" {
			c.Properties = []cdxProperty{{"keepvip:go.sum", m.Sum}}
		}
		doc.Components = append(doc.Components, c)
		depends.DependsOn = append(depends.DependsOn, c.Ref)
	}
	doc.Dependencies = []cdxDependency{depends}
	out, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return nil, fmt.Errorf("sbom: %w", err)
	}
	return append(out, '\n'), nil
}

// serial is a UUID of version 8 (RFC 9562), whose bits are of one's own choice: those of the binary's sum.
func serial(sum [sha256.Size]byte) string {
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
