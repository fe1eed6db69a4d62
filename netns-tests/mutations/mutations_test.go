package mutations

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// The table follows the source: a text that is not there any more is a defect that nobody tries.
func TestEveryMutationStillApplies(t *testing.T) {
	names := map[string]bool{}
	for _, m := range All() {
		t.Run(m.Name, func(t *testing.T) {
			assert.False(t, names[m.Name], "the name is there twice")
			names[m.Name] = true
			text, err := m.Mutated(root)
			require.NoError(t, err)
			_, err = parser.ParseFile(token.NewFileSet(), m.File, text, parser.SkipObjectResolution)
			assert.NoError(t, err)
			assert.True(t, hasTest(t, m), "%s has no test %s", m.Package(), m.Test)
		})
	}
	assert.Len(t, names, len(All()))
	features, err := os.ReadFile(filepath.Join(root, "docs/features.md"))
	require.NoError(t, err)
	assert.Contains(t, string(features), fmt.Sprintf("puts %d defects", len(names)))
}

// hasTest tells whether the package of a mutation has the test that is to find it.
func hasTest(t *testing.T, m Mutation) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, m.Package(), "*_test.go"))
	require.NoError(t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		if strings.Contains(string(b), "\nfunc "+m.Test+"(") {
			return true
		}
	}
	return false
}

func TestTextThatIsNotThereOnceIsNoMutation(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("one two one"), 0o600))
	for _, tt := range []struct{ old, want string }{{"two", ""}, {"one", "2 times"}, {"three", "0 times"}} {
		text, err := Mutation{Name: "a", File: "a.go", Old: tt.old, New: "2"}.Mutated(dir)
		if tt.want == "" {
			require.NoError(t, err)
			assert.Equal(t, "one 2 one", string(text))
			continue
		}
		assert.ErrorContains(t, err, tt.want)
	}
}
