package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tables of the walks have three columns: goroutine, file, functions. The first function of a goroutine is called by nobody that is
// named before it; each other one is called, or given on, by one of those.
func TestWalksNameFunctionsThatCallEachOther(t *testing.T) {
	text, err := os.ReadFile("walks.md")
	require.NoError(t, err)
	var rows int
	var named map[string]bool // in the functions of the walk so far
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if strings.HasPrefix(line, "**") {
			named = map[string]bool{}
		}
		if len(cells) != 5 || !strings.Contains(cells[2], ".go`") {
			continue
		}
		rows++
		file, goes := codes(cells[2])[0], strings.TrimSpace(cells[1]) != ""
		there := functionsOf(t, "../"+file)
		for i, name := range codes(cells[3]) {
			if !assert.Contains(t, there, name, file) {
				continue
			}
			assert.True(t, goes && i == 0 || named[name], "nothing before it in the walk calls %s of %s", name, file)
			maps.Copy(named, there[name])
		}
	}
	assert.Greater(t, rows, 30)
}

// functionsOf gives for each function of a file the names in it; functions of the same name are one.
func functionsOf(t *testing.T, path string) map[string]map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	there := map[string]map[string]bool{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if there[f.Name.Name] == nil {
			there[f.Name.Name] = map[string]bool{}
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				there[f.Name.Name][id.Name] = true
			}
			return true
		})
	}
	return there
}
