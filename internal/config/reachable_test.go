package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program is looked at as the user who is to run it, with each directory and each symbolic link on the way.
func TestRunnableLooksAtTheWholePath(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "keepvip-path-") // t.TempDir is its owner's alone
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	private := filepath.Join(dir, "private")
	require.NoError(t, os.Mkdir(private, 0o750))
	for _, p := range []string{filepath.Join(dir, "open"), filepath.Join(private, "hidden")} {
		require.NoError(t, os.WriteFile(p, []byte("#!/bin/sh\n"), 0o755))
	}
	require.NoError(t, os.Symlink(filepath.Join(private, "hidden"), filepath.Join(dir, "link")))
	const stranger = "54321:54321"
	runs := func(name, user string) error {
		uid, gid, err := lookUp(user, true)
		require.NoError(t, err)
		return runnable(filepath.Join(dir, name), uid, gid)
	}
	require.NoError(t, runs("open", stranger))
	for _, name := range []string{"private/hidden", "link"} {
		err := runs(name, stranger)
		require.ErrorContains(t, err, "the directory "+private+" (mode 0750) does not let user 54321 in")
		require.NoError(t, runs(name, "root"))
	}
	assert.ErrorContains(t, runs("none", stranger), "no such program here")
}
