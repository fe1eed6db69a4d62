// Package provenance says what a release was made of and how: an in-toto statement with SLSA's predicate, and the signed envelope (DSSE)
// that cosign and slsa-verifier read.
//
// # Goroutines
//
// None.
package provenance

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Names by which readers of a statement know what it is.
const (
	payloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	product       = "https://github.com/keepvip/keepvip"
	buildType     = product + "/blob/main/packaging/README.md#make-release"
	builder       = product + "/blob/main/Makefile"
)

// Config is what is told about a release.
type Config struct {
	Version   string // "v1.2.3"
	Revision  string // the commit; may be empty
	Platforms []string
	Toolchain string    // "go1.26.8"
	Time      time.Time // of the commit: the statement is the same each time
	Files     map[string][]byte
}

type digest map[string]string

type descriptor struct {
	Name   string `json:"name,omitempty"`
	URI    string `json:"uri,omitempty"`
	Digest digest `json:"digest,omitempty"`
}

type statement struct {
	Type          string       `json:"_type"`
	Subject       []descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     predicate    `json:"predicate"`
}

type predicate struct {
	Definition definition `json:"buildDefinition"`
	Details    details    `json:"runDetails"`
}

type definition struct {
	BuildType    string       `json:"buildType"`
	External     parameters   `json:"externalParameters"`
	Dependencies []descriptor `json:"resolvedDependencies"`
}

type parameters struct {
	Command   string   `json:"command"`
	Version   string   `json:"version"`
	Platforms []string `json:"platforms"`
}

type details struct {
	Builder struct {
		ID string `json:"id"`
	} `json:"builder"`
	Metadata struct {
		Started time.Time `json:"startedOn"`
	} `json:"metadata"`
}

// Statement renders the statement about all files.
func Statement(cfg Config) ([]byte, error) {
	s := statement{Type: statementType, PredicateType: predicateType}
	for _, name := range slices.Sorted(maps.Keys(cfg.Files)) {
		sum := sha256.Sum256(cfg.Files[name])
		s.Subject = append(s.Subject, descriptor{Name: name, Digest: digest{"sha256": hex.EncodeToString(sum[:])}})
	}
	source := descriptor{URI: "git+" + product + "@refs/tags/" + cfg.Version}
	if cfg.Revision != "" {
		source.Digest = digest{"gitCommit": cfg.Revision}
	}
	s.Predicate.Definition = definition{
		BuildType:    buildType,
		External:     parameters{Command: "make release VERSION=" + cfg.Version[1:], Version: cfg.Version, Platforms: cfg.Platforms},
		Dependencies: []descriptor{source, {Name: "toolchain", URI: "pkg:golang/toolchain@" + cfg.Toolchain}},
	}
	s.Predicate.Details.Builder.ID = builder
	s.Predicate.Details.Metadata.Started = cfg.Time.UTC()
	out, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}
	return append(out, '\n'), nil
}

type envelope struct {
	Type       string      `json:"payloadType"`
	Payload    string      `json:"payload"`
	Signatures []signature `json:"signatures"`
}

type signature struct {
	Sig string `json:"sig"`
}

// Envelope is the statement with its signature, in one line: what is called intoto.jsonl. sign gets what DSSE signs.
func Envelope(statement []byte, sign func([]byte) ([]byte, error)) ([]byte, error) {
	sig, err := sign(signed(statement))
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(envelope{
		Type: payloadType, Payload: base64.StdEncoding.EncodeToString(statement),
		Signatures: []signature{{base64.StdEncoding.EncodeToString(sig)}},
	})
	if err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}
	return append(out, '\n'), nil
}

// signed is DSSE's pre-authentication encoding.
func signed(payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}
