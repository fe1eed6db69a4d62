package release

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/packaging/sbom"
)

func TestCopyrightIsDEP5(t *testing.T) {
	text := string(copyright([]byte("Apache License\n\nTerms\n"), map[string]sbom.Licence{
		"example.org/b": {ID: "MIT AND BSD-3-Clause", Text: "Copyright (c) 2019 B\nCopyright (c) 2020 C\n\nPermission\n"},
		"example.org/a": {ID: "MPL-2.0", Text: "Mozilla\n"},
	}))
	assert.True(t, strings.HasPrefix(text, "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: keepvip\n"))
	assert.Contains(t, text, "\n\nFiles: *\nCopyright: The keepvip authors\nLicense: Apache-2.0\n Apache License\n .\n Terms\n\n")
	assert.Contains(t, text, "Files: example.org/a/*\nCopyright: as the licence says\nLicense: MPL-2.0\n Mozilla\n")
	assert.True(t, strings.HasSuffix(text, "Files: example.org/b/*\nCopyright: (c) 2019 B\n           (c) 2020 C\nLicense: MIT and BSD-3-Clause\n"+
		" Copyright (c) 2019 B\n Copyright (c) 2020 C\n .\n Permission\n"))
	for line := range strings.Lines(text) {
		assert.NotRegexp(t, "^ \n", line, "an empty line in a field is a dot")
	}
}
