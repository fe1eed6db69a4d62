package vrrp

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRFCDocumentNamesWhatExists keeps docs/rfc9568.md honest: each test, case and script that it names is there.
func TestRFCDocumentNamesWhatExists(t *testing.T) {
	document, err := os.ReadFile("../docs/rfc9568.md")
	require.NoError(t, err)
	sources := testSources(t)

	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)(?:/([^`]+))?`").FindAllStringSubmatch(string(document), -1)
	require.NotEmpty(t, named)
	for _, name := range named {
		assert.True(t, strings.Contains(sources, "func "+name[1]+"(t *testing.T)"), "no test %s", name[1])
		assert.True(t, strings.Contains(sources, strings.ReplaceAll(name[2], "_", " ")), "%s has no case %q", name[1], name[2])
	}
	for _, script := range regexp.MustCompile(`testdata/[a-z-]+\.txt`).FindAllString(string(document), -1) {
		assert.FileExists(t, script)
	}
}

// testSources are this package's tests, with the names of cases as they appear in the document: "_" is a space there,
// also in names that have both.
func testSources(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(b)
		all.WriteString(strings.ReplaceAll(string(b), "_", " "))
	}
	return all.String()
}
