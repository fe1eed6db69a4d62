package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	sourceFile = regexp.MustCompile("`((?:[a-z0-9_-]+/)+[a-z0-9_]+\\.go)`")
	makeTarget = regexp.MustCompile("`make ([a-z0-9-]+)|\nmake ([a-z0-9-]+)")
	target     = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
	link       = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]+))?\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// pages are README and the pages here, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	list, err := filepath.Glob("*.md")
	require.NoError(t, err)
	out := map[string]string{}
	for _, path := range append(list, "../README.md", "../CHANGELOG.md") {
		out[path] = read(t, path)
	}
	return out
}

// A source file that a page names, with its folder, is there; and so is what `make` is asked for.
func TestPagesNameWhatIsThere(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(read(t, "../Makefile"), -1) {
		targets[m[1]] = true
	}
	var files, made int
	for page, text := range pages(t) {
		for _, m := range sourceFile.FindAllStringSubmatch(text, -1) {
			files++
			assert.FileExists(t, "../"+m[1], page)
		}
		for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
			made++
			assert.True(t, targets[m[1]+m[2]], "%s: make %s%s", page, m[1], m[2])
		}
	}
	assert.Greater(t, files, 50)
	assert.Greater(t, made, 10)
}

// A link between pages leads to a page and to a heading that it has.
func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	headings := map[string]map[string]bool{}
	all := pages(t)
	for page, text := range all {
		headings[page] = anchors(text)
	}
	var found int
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			if rel, err := filepath.Rel("../docs", to); err == nil && strings.HasPrefix(to, "../docs/") {
				to = rel
			}
			found++
			if _, err := os.Stat(to); !assert.NoError(t, err, "%s: %s", page, m[0]) || m[2] == "" {
				continue
			}
			assert.Contains(t, headings[to], m[2], "%s: %s", page, m[0])
		}
	}
	assert.Greater(t, found, 50)
}

// anchors are the names by which a link finds the headings of a page.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				b.WriteRune(r)
			}
		}
		out[b.String()] = true
	}
	return out
}
