package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCommandsDescribesWhatThereIs(t *testing.T) {
	code, out, errs := keepvip(t, "commands")
	require.Equal(t, exitOK, code, errs)
	var root commandDoc
	require.NoError(t, json.Unmarshal([]byte(out), &root))
	found := map[string]commandDoc{}
	var visit func(commandDoc)
	visit = func(c commandDoc) {
		found[c.Path] = c
		for _, sub := range c.Commands {
			visit(sub)
		}
	}
	visit(root)
	assert.Contains(t, found, "keepvip config show")
	assert.NotContains(t, found, "keepvip commands", "it is hidden")
	assert.Contains(t, found["keepvip run"].Flags, flagDoc{
		Name: "advertisement-interval", Env: "KEEPVIP_ADVERTISEMENT_INTERVAL", Value: "duration", Default: "100ms",
		Help: "Advertisement_Interval; a dead holder is replaced after a little more than three of them",
	})
	for path, c := range found {
		assert.NotEmpty(t, c.Short, path)
		for _, f := range c.Flags {
			assert.NotEmpty(t, f.Help, "%s --%s", path, f.Name)
		}
	}
}
