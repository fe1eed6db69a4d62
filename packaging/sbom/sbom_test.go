package sbom

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadLicence(t *testing.T) {
	const (
		mit = "Permission is hereby granted, free of\ncharge, to any person obtaining a copy"
		bsd = "Redistribution and use in source and binary forms, with or without modification"
	)
	tests := []struct {
		name  string
		files map[string]string
		want  string
		err   string
	}{
		{"one", map[string]string{"LICENSE": "Apache License\n   Version 2.0, January 2004"}, "Apache-2.0", ""},
		{"two", map[string]string{"LICENSE": mit, "LICENSE.other": "under the Apache License, Version 2.0"}, "Apache-2.0 AND MIT", ""},
		{"three clauses", map[string]string{"LICENSE.md": bsd + " Neither the name of"}, "BSD-3-Clause", ""},
		{"two clauses", map[string]string{"COPYING": bsd}, "BSD-2-Clause", ""},
		{"with a notice", map[string]string{"LICENSE": mit, "NOTICE": "by somebody"}, "MIT", ""},
		{"none", map[string]string{"README": mit}, "", "no licence in"},
		{"unknown", map[string]string{"LICENSE": "you may not"}, "", "is no licence that is known here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			got, err := ReadLicence(dir)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.ID)
			for name, text := range tt.files {
				assert.Contains(t, got.Text, text, name)
			}
		})
	}
}

func TestSPDX(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	out, err := exec.Command("go", "build", "-o", program, "../cmd/release").CombinedOutput()
	require.NoError(t, err, string(out))
	binary, err := os.ReadFile(program)
	require.NoError(t, err)
	modules, err := Modules(binary)
	require.NoError(t, err)
	licences := map[string]Licence{}
	for _, m := range modules {
		licences[m.Path] = Licence{ID: "MIT"}
	}
	cfg := Config{Name: "keepvip-1.2.3-linux-amd64", Version: "1.2.3", Binary: binary, Created: time.Unix(1700000000, 0), Licences: licences}
	first, err := SPDX(cfg)
	require.NoError(t, err)
	second, err := SPDX(cfg)
	require.NoError(t, err)
	assert.Equal(t, first, second)

	var doc document
	require.NoError(t, json.Unmarshal(first, &doc))
	assert.Equal(t, "2023-11-14T22:13:20Z", doc.Creation.Created)
	var names []string
	ids := map[string]bool{}
	for _, p := range doc.Packages {
		names = append(names, p.Name)
		assert.False(t, ids[p.ID], "%s is there twice", p.ID)
		ids[p.ID] = true
	}
	assert.Subset(t, names, []string{"keepvip-1.2.3-linux-amd64", "stdlib", "github.com/goreleaser/nfpm/v2"})
	for _, r := range doc.Relations {
		assert.True(t, ids[r.To], "%s is nothing", r.To)
	}

	delete(licences, "github.com/goreleaser/nfpm/v2")
	_, err = SPDX(cfg)
	assert.EqualError(t, err, "sbom: no licence for github.com/goreleaser/nfpm/v2")
}

func TestModulesOfWhatIsNoProgram(t *testing.T) {
	_, err := Modules([]byte("#!/bin/sh"))
	assert.ErrorContains(t, err, "sbom: read the build information")
}

func TestCycloneDXSaysTheSame(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	out, err := exec.Command("go", "build", "-o", program, "../cmd/release").CombinedOutput()
	require.NoError(t, err, string(out))
	binary, err := os.ReadFile(program)
	require.NoError(t, err)
	modules, err := Modules(binary)
	require.NoError(t, err)
	licences := map[string]Licence{}
	for _, m := range modules {
		licences[m.Path] = Licence{ID: "MIT"}
	}
	cfg := Config{Name: "keepvip-1.2.3-linux-amd64", Version: "1.2.3", Binary: binary, Created: time.Unix(1700000000, 0), Licences: licences}
	first, err := CycloneDX(cfg)
	require.NoError(t, err)
	second, err := CycloneDX(cfg)
	require.NoError(t, err)
	assert.Equal(t, first, second)
	var doc cdxDocument
	require.NoError(t, json.Unmarshal(first, &doc))
	assert.Regexp(t, "^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", doc.Serial)
	require.Len(t, doc.Components, len(modules))
	for i, c := range doc.Components {
		assert.Equal(t, modules[i].Path, c.Name)
		assert.Equal(t, c.Ref, doc.Dependencies[0].DependsOn[i])
	}
	delete(licences, "github.com/goreleaser/nfpm/v2")
	_, err = CycloneDX(cfg)
	assert.EqualError(t, err, "sbom: no licence for github.com/goreleaser/nfpm/v2")
}
