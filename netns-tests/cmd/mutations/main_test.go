package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/mutations"
)

// A mutation counts as found where a test has failed, and for no other reason.
func TestMutationIsFoundByATestThatFails(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.24\n",
		"a.go":      "package m\n\nfunc sum(a, b int) int { return a + b }\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif sum(2, 2) != 4 {\n\t\tt.Fail()\n\t}\n}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	for _, tt := range []struct {
		name, new, test string
		whole           bool
		by, err         string
	}{
		{name: "found", new: "a - b", test: "TestSum", by: ".: TestSum"},
		{name: "found by any test", new: "a - b", test: "TestOther", whole: true, by: ".: TestSum"},
		{name: "survives", new: "a * b", test: "TestSum", err: "TestSum passes with the defect"},
		{name: "without its test", new: "a - b", test: "TestOther", err: "./. has no test TestOther"},
		{name: "does not build", new: "a -", test: "TestSum", err: "no test has failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := mutations.Mutation{Name: tt.name, File: "a.go", Old: "a + b", New: tt.new, Test: tt.test}
			by, err := findersOf(t.Context(), root, t.TempDir(), m, tt.whole)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, tt.by, by)
		})
	}
	text, err := os.ReadFile(filepath.Join(root, "a.go"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "a + b", "the source stays as it is")
}
