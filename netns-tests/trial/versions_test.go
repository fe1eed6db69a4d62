package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEditsFitTheSources(t *testing.T) {
	root, err := Root()
	require.NoError(t, err)
	for name, edits := range map[string][]Edit{"more fields": MoreFields, "another format": AnotherFormat} {
		_, err := overlay(root, t.TempDir(), edits)
		assert.NoError(t, err, name)
	}
}
