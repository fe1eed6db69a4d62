package trial

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEditsFitTheSources(t *testing.T) {
	root, err := Root()
	require.NoError(t, err)
	for name, edits := range map[string][]Edit{"more fields": MoreFields, "another format": AnotherFormat} {
		list, err := overlay(root, t.TempDir(), edits)
		require.NoError(t, err, name)
		build := exec.Command("go", "build", "-overlay", list, "./members/...")
		build.Dir = root
		out, err := build.CombinedOutput()
		assert.NoError(t, err, "%s: %s", name, out)
	}
}
