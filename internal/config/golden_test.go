package config

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// golden compares with a file that `make golden` writes.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, string(want) == string(got), "%s differs from the table: regenerate with make golden and review the difference", path)
}

func TestReferenceIsTheDocumentation(t *testing.T) {
	golden(t, "../../docs/configuration.md", Reference())
}

func TestSchemaGolden(t *testing.T) {
	got := Schema()
	require.True(t, json.Valid(got))
	golden(t, "testdata/schema.json", got)
}
