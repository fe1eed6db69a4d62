package code

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEntriesAreValid(t *testing.T) {
	number, slug := regexp.MustCompile(`^KV[1-7][0-9]{2}$`), regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)*$`)
	names, means, last := map[string]Code{}, map[string]Code{}, Code("")
	for _, e := range All() {
		assert.Regexp(t, number, string(e.Code))
		assert.Greater(t, e.Code, last, "in order, and none twice")
		assert.Regexp(t, slug, e.Name, "%s", e.Code)
		assert.Empty(t, names[e.Name], "%s has the name of another code", e.Code)
		assert.Empty(t, means[e.Means], "%s means the same as another code", e.Code)
		names[e.Name], means[e.Means], last = e.Code, e.Code, e.Code
		for _, text := range []string{e.Means, e.Look, e.Remedy} {
			assertSentences(t, e.Code, text)
		}
		assert.Equal(t, e, e.Code.Entry())
		assert.Equal(t, e.Name, e.Code.Name())
	}
}

// What the program can say is explained, under a code of its own.
func TestEachCodeOfTheProgramHasAnEntry(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	require.NoError(t, err)
	seen := map[Code]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			c := Code(value)
			assert.Equal(t, c, c.Entry().Code, spec.Names[0].Name)
			assert.False(t, seen[c], "%s twice", c)
			seen[c] = true
		}
		return true
	})
	assert.Greater(t, len(seen), 150)
}

func assertSentences(t *testing.T, of Code, text string) {
	t.Helper()
	require.NotEmpty(t, text, "%s", of)
	assert.Equal(t, strings.ToUpper(text[:1]), text[:1], "%s: %s", of, text)
	assert.True(t, strings.HasSuffix(text, "."), "%s: %s", of, text)
	assert.NotContains(t, text, "  ", "%s", of)
	assert.NotContains(t, text, "\n", "%s", of)
}

func TestEntryOfACodeThatDoesNotExist(t *testing.T) {
	for _, c := range []Code{"", "KV", "KV1", "KV199", "KV999", "KV1011", "nonsense"} {
		assert.Zero(t, c.Entry(), "%q", c)
		assert.Equal(t, "unknown", c.Name(), "%q", c)
	}
}

func TestAskingForANameBuildsNoEntry(t *testing.T) {
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _ = HolderSilent.Name() }), 1.0)
}

func TestCodesHaveNumbers(t *testing.T) {
	for _, e := range All() {
		assert.Equal(t, e.Code, Numbered(e.Code.Number()))
	}
	assert.Equal(t, Code("KV999"), Numbered(999), "one of a later release")
	for _, c := range []Code{"", "KV", "KV1", "KV099", "KV0x1", "XY101", "KV1011"} {
		assert.Zero(t, c.Number(), "%q", c)
	}
	for _, n := range []uint16{0, 99, 1000, 65535} {
		assert.Zero(t, Numbered(n), "%d", n)
	}
}
