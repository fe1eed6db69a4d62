package yamledit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMarshalWritesWhatKubernetesToolsDo(t *testing.T) {
	got, err := Marshal(struct {
		Spec     map[string]any `json:"spec"`
		Priority int            `json:"priority,omitempty"`
		Kind     string         `json:"kind"`
		Empty    string         `json:"empty,omitempty"`
	}{map[string]any{"port": 6443, "args": []string{"run", "--check", "yes", "8080"}}, 2000001000, "Pod", ""})
	require.NoError(t, err)
	assert.Equal(t, "kind: Pod\npriority: 2000001000\nspec:\n  args:\n  - run\n  - --check\n  - \"yes\"\n  - \"8080\"\n  port: 6443\n", string(got))
	_, err = Marshal(func() {})
	assert.ErrorContains(t, err, "yamledit: ")
}
