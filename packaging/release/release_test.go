package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseVersion(t *testing.T) {
	for _, give := range []string{"1.2.3", "v1.2.3"} {
		v, err := ParseVersion(give)
		require.NoError(t, err)
		assert.Equal(t, Version("1.2.3"), v)
		assert.Equal(t, "v1.2.3", v.Tag())
	}
	for _, give := range []string{"", "dev", "1.2", "v1.2.3+meta", "1.2.3-"} {
		_, err := ParseVersion(give)
		assert.ErrorContains(t, err, "want three numbers", give)
	}
}

// `keepvip manifest pod` names the image by the program's version: it has to be the one that `make image` makes.
func TestBuildAndImageOfOneCloneHaveTheSameVersion(t *testing.T) {
	for _, given := range []string{"", "VERSION=1.2.3", "VERSION=v1.2.3"} {
		build := inRecipe(t, `main\.version=(\S+?)'`, "build", given)
		image, err := ParseVersion(inRecipe(t, `-version '([^']*)'`, "image", given))
		require.NoError(t, err)
		assert.Equal(t, image.Tag(), build, given)
	}
}

// inRecipe is what pattern finds in the commands of a target of the Makefile.
func inRecipe(t *testing.T, pattern string, args ...string) string {
	t.Helper()
	cmd := exec.Command("make", append([]string{"-n", "-C", "../.."}, args...)...)
	if args[len(args)-1] == "" {
		cmd.Args = cmd.Args[:len(cmd.Args)-1]
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	m := regexp.MustCompile(pattern).FindSubmatch(out)
	require.NotNil(t, m, string(out))
	return string(m[1])
}

func TestSelectTargets(t *testing.T) {
	all, err := SelectTargets("all")
	require.NoError(t, err)
	assert.Len(t, all, 6)
	some, err := SelectTargets("linux/arm64,linux-armv7")
	require.NoError(t, err)
	assert.Equal(t, []Target{all[1], all[2]}, some)
	_, err = SelectTargets("linux-386")
	assert.EqualError(t, err, `release: platform "linux-386", want all, host, or some of linux-amd64,linux-arm64,linux-armv7,linux-ppc64le,linux-riscv64,linux-s390x`)
}

func TestWriteReplacesAnEarlierRelease(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	require.NoError(t, Write(dir, map[string][]byte{"keepvip-1.tar": []byte("one")}))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	files := map[string][]byte{"keepvip-2.tar": []byte("two")}
	files["SHA256SUMS"] = sums(files)
	require.NoError(t, Write(dir, files))
	assert.NoFileExists(t, filepath.Join(dir, "keepvip-1.tar"))
	assert.FileExists(t, filepath.Join(dir, "other"))
	text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	require.NoError(t, err)
	assert.Equal(t, "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3  keepvip-2.tar\n", string(text))
}

// The unit of the packages is the one that a generated cloud-init has.
func TestUnit(t *testing.T) {
	unit, err := Unit()
	require.NoError(t, err)
	assert.Contains(t, string(unit), "ExecStart=/usr/bin/keepvip run --config=/etc/keepvip/keepvip.yaml\n")
	assert.Contains(t, string(unit), "Type=notify\n")
}
