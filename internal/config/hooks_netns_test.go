//go:build netns

package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who can replace a symbolic link on the way to root's program can put another one in its place.
func TestHookOfRootBehindALinkOfAnother(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "keepvip-config-") // t.TempDir is below a directory that is not root's alone, perhaps
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(in("users"), 0o755))
	require.NoError(t, os.Mkdir(in("roots"), 0o755))
	require.NoError(t, os.WriteFile(in("program"), nil, 0o755))
	require.NoError(t, os.Symlink("../program", in("users/link")))
	require.NoError(t, os.Symlink("../users/link", in("roots/link")))
	require.NoError(t, os.Symlink("roots", in("way")))
	require.NoError(t, os.Symlink(in("way")+"/../program", in("direct")))
	require.NoError(t, os.Symlink("program", in("theirs")))
	require.NoError(t, os.Symlink("loop", in("loop")))
	require.NoError(t, os.Chown(in("users"), 1000, 0))
	require.NoError(t, os.Lchown(in("theirs"), 1000, 0))
	const remedy = ", want root as its owner and 0755, or another user"
	for path, want := range map[string]string{
		"program":             "",
		"direct":              "",
		"roots/../program":    "",
		"way/../way/./x/../y": "no such file or directory",
		"users/link":          in("users") + " can be changed by others than root (owner 1000, mode 0755)" + remedy,
		"way/link":            in("users") + " can be changed by others than root (owner 1000, mode 0755)" + remedy,
		"theirs":              in("theirs") + " can be changed by others than root (owner 1000, mode 0777)" + remedy,
		"loop":                "too many symbolic links, want a program",
	} {
		err := safeForRoot(dir + "/" + path)
		if want == "" {
			assert.NoError(t, err, path)
		} else {
			assert.EqualError(t, err, want, path)
		}
	}
}
