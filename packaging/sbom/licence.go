package sbom

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Licence is what a module says about its use.
type Licence struct {
	ID   string // an SPDX expression: "MIT", "Apache-2.0 AND MIT"
	Text string // all of it, and the notices that have to be passed on
}

// ReadLicence reads the licence files in a module's directory. One that it does not know is an error: somebody has to read it.
func ReadLicence(dir string) (Licence, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Licence{}, fmt.Errorf("sbom: %w", err)
	}
	var l Licence
	var ids []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		licence := strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING")
		if e.IsDir() || (!licence && !strings.HasPrefix(name, "NOTICE")) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return Licence{}, fmt.Errorf("sbom: %w", err)
		}
		l.Text += strings.TrimSpace(string(text)) + "\n\n"
		if licence {
			found := identify(string(text))
			if len(found) == 0 {
				return Licence{}, fmt.Errorf("sbom: %s/%s is no licence that is known here: read it, and teach identify", dir, e.Name())
			}
			ids = append(ids, found...)
		}
	}
	if len(ids) == 0 {
		return Licence{}, fmt.Errorf("sbom: no licence in %s", dir)
	}
	slices.Sort(ids)
	l.ID = strings.Join(slices.Compact(ids), " AND ")
	return l, nil
}

// identify finds licences by sentences that only they have.
func identify(text string) []string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(s string) bool { return strings.Contains(text, s) }
	var ids []string
	if has("apache license version 2.0") || has("apache license, version 2.0") {
		ids = append(ids, "Apache-2.0")
	}
	if has("permission is hereby granted, free of charge, to any person obtaining a copy") {
		ids = append(ids, "MIT")
	}
	if has("permission to use, copy, modify, and/or distribute this software for any purpose") {
		ids = append(ids, "ISC")
	}
	if has("mozilla public license") {
		ids = append(ids, "MPL-2.0")
	}
	if has("redistribution and use in source and binary forms") {
		if has("neither the name") || has("the names of its contributors may") {
			ids = append(ids, "BSD-3-Clause")
		} else {
			ids = append(ids, "BSD-2-Clause")
		}
	}
	return ids
}
