package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	metricName = regexp.MustCompile(`^(keepvip|keepalived)_[a-z0-9_]*[a-z0-9]$`)
	metricRow  = regexp.MustCompile("(?m)^\\| `((?:keepvip|keepalived)_[a-z0-9_]+)` \\|")
	metricWord = regexp.MustCompile(`\b(?:keepvip|keepalived)_[a-z0-9_]*[a-z0-9]\b`)
)

// metricsInCode are the names that the program has in full, each as a string of its own.
func metricsInCode(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	collect := func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
				if name, err := strconv.Unquote(s.Value); err == nil && metricName.MatchString(name) {
					out[name] = true
				}
			}
			return true
		})
		return nil
	}
	for _, room := range []string{"../internal/serve/instance", "../internal/node/daemon", "../internal/node/metrics", "../internal/node/reloads", "../internal/node/follower"} {
		require.NoError(t, filepath.WalkDir(room, collect))
	}
	return out
}

// metricsInDocs are those with a row of their own.
func metricsInDocs(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, m := range metricRow.FindAllStringSubmatch(read(t, "monitoring.md"), -1) {
		assert.False(t, out[m[1]], "%s has two rows", m[1])
		out[m[1]] = true
	}
	return out
}

func TestEveryMetricHasARowAndEveryRowAMetric(t *testing.T) {
	code := metricsInCode(t)
	assert.Greater(t, len(code), 50)
	assert.Equal(t, code, metricsInDocs(t))
}

// histogramPart is what Prometheus makes of one name.
var histogramPart = regexp.MustCompile(`_(bucket|sum|count)$`)

// A metric that any page speaks of is there.
func TestPagesNameMetricsThatAreThere(t *testing.T) {
	known := metricsInCode(t)
	for page, text := range pages(t) {
		for _, name := range metricWord.FindAllString(text, -1) {
			if page == "installers.md" { // the variables of the Ansible role
				continue
			}
			if strings.HasPrefix(name, "keepalived_") && page != "monitoring.md" || name == "keepalived_script" { // the user of keepalived's scripts
				continue
			}
			assert.True(t, known[name] || known[histogramPart.ReplaceAllString(name, "")] || prefixOfOne(known, name), "%s: %s", page, name)
		}
	}
}

// prefixOfOne is for names that a page leaves open, such as keepvip_check_*, and for files: keepvip_0.1.0_amd64.deb.
func prefixOfOne(known map[string]bool, name string) bool {
	for k := range known {
		if strings.HasPrefix(k, name+"_") {
			return true
		}
	}
	return regexp.MustCompile(`^keepvip_\d`).MatchString(name)
}
