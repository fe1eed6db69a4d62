package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
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

// pages are README, the other pages of the top, and the pages here, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	list, err := filepath.Glob("*.md")
	require.NoError(t, err)
	out := map[string]string{}
	top, err := filepath.Glob("../*.md")
	require.NoError(t, err)
	require.Greater(t, len(top), 6)
	for _, path := range append(list, top...) {
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

var (
	optionKey = regexp.MustCompile("(?m)^\\| `([A-Za-z.\\[\\]]+)` \\|")
	// What a text calls an option by its section. Other words with a dot are names of files, of Go and of JSON.
	optionNamed = regexp.MustCompile(`(?:^|[^\w./\]-])((?:vrrp|raft|dhcp|check|spread|announce|metrics|follow|health|log|key|notifyFIFO)\.[a-zA-Z]+(?:\.[a-zA-Z]+)*)`)
)

// An option that an error, a remedy or a page for operators names is one of the reference: who reads it at night looks for it there.
func TestOptionsThatTextsNameAreThere(t *testing.T) {
	options := map[string]bool{}
	for _, m := range optionKey.FindAllStringSubmatch(read(t, "configuration.md"), -1) {
		parts := strings.Split(strings.ReplaceAll(m[1], "[]", ""), ".")
		for i := range parts {
			for j := i + 1; j <= len(parts); j++ {
				options[strings.Join(parts[i:j], ".")] = true
			}
		}
	}
	require.Greater(t, len(options), 100)
	var found int
	check := func(where, text string) {
		for _, m := range optionNamed.FindAllStringSubmatch(text, -1) {
			found++
			assert.True(t, options[m[1]], "%s: %s", where, m[1])
		}
	}
	for page, text := range pages(t) {
		switch page {
		case "architecture.md", "mechanisms.md", "development.md", "raft.md": // they name packages and keys of the status, too
			continue
		}
		for _, m := range regexp.MustCompile("`[^`\n]+`").FindAllString(text, -1) {
			check(page, m)
		}
	}
	for _, path := range sources(t) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				check(path, text.Value)
			}
			return true
		})
	}
	assert.Greater(t, found, 300)
}

// sources are the files of the program, without its tests.
func sources(t *testing.T) (out []string) {
	t.Helper()
	for _, top := range []string{"../arp", "../cmd", "../election", "../internal", "../kubeadm", "../members", "../vrrp"} {
		require.NoError(t, filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				out = append(out, path)
			}
			return err
		}))
	}
	return out
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
