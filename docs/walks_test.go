package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tables of the walks have three columns: goroutine, file, functions.
func TestWalksNameFunctionsThatAreThere(t *testing.T) {
	text, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[2], ".go`") {
			continue
		}
		rows++
		file := codes(cells[2])[0]
		there := functionsOf(t, "../"+file)
		for _, name := range codes(cells[3]) {
			assert.True(t, there[name], "%s has no function %s", file, name)
		}
	}
	assert.Greater(t, rows, 30)
}

func functionsOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	there := map[string]bool{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			there[f.Name.Name] = true
		}
	}
	return there
}
