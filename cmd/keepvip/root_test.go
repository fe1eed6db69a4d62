package main

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What stays in memory for as long as an address is kept has no flags of commands that are not run.
func TestRootForADaemonHasItsCommandAlone(t *testing.T) {
	for _, name := range []string{"run", "follow", "keepalived"} {
		small := rootFor([]string{name, "--help"})
		require.Len(t, small.Commands(), 1, name)
		own := small.Commands()[0]
		assert.Equal(t, name, own.Name())
		whole, rest, err := newRoot().Find([]string{name})
		require.NoError(t, err)
		require.Empty(t, rest)
		assert.Equal(t, helpText(whole), helpText(own), name)
		var want, have []string
		whole.Flags().VisitAll(func(f *pflag.Flag) { want = append(want, f.Name) })
		own.Flags().VisitAll(func(f *pflag.Flag) { have = append(have, f.Name) })
		assert.Equal(t, want, have, name)
	}
	for _, args := range [][]string{nil, {"status"}, {"help", "run"}, {"__complete", "run", ""}, {"--version"}} {
		assert.Len(t, rootFor(args).Commands(), len(newRoot().Commands()), args)
	}
}
