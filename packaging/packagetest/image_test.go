//go:build packages

package packagetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// containerd takes the archive without any registry, under the name that manifests have.
func TestImageImports(t *testing.T) {
	m := boot(t)
	m.push(result(t, "0.1.0.tar"), "/tmp/image.tar")
	m.must("systemd-run", "--quiet", "--unit=images", "containerd", "--root=/tmp/c/root", "--state=/tmp/c/state", "--address=/tmp/c/sock")
	ctr := func(args ...string) []string {
		return append([]string{"ctr", "--address=/tmp/c/sock", "-n", "k8s.io"}, args...)
	}
	m.eventually("containerd answers", func() bool {
		_, err := m.try(ctr("version")...)
		return err == nil
	})
	m.must(ctr("images", "import", "--snapshotter=native", "/tmp/image.tar")...)
	// The CRI plugin, when it is quick, has added a name of its own, which is the configuration's digest.
	names := slices.DeleteFunc(strings.Fields(m.must(ctr("images", "list", "-q")...)), func(n string) bool {
		return strings.HasPrefix(n, "sha256:")
	})
	require.Len(t, names, 1)
	name := names[0]
	require.True(t, strings.HasSuffix(name, "/keepvip:v0.1.0"), name)
	byDigest, _, _ := strings.Cut(strings.TrimSpace(string(result(t, "0.1.0.digest"))), "@")
	assert.True(t, strings.HasPrefix(name, byDigest+":"), "%s is not %s", name, byDigest)
	assert.Contains(t, m.must(ctr("images", "list")...), strings.TrimPrefix(strings.TrimSpace(string(result(t, "0.1.0.digest"))), byDigest+"@"))

	// Without shares: on a host with both versions of control groups the machine's has no cpu controller.
	run := ctr("run", "--rm", "--snapshotter=native", "--read-only", "--cpu-shares=0", name)
	assert.Contains(t, m.must(append(slices.Clone(run), "one", "/keepvip", "version")...), "keepvip v0.1.0 linux/")
	assert.Contains(t, m.must(append(slices.Clone(run), "three", "keepvip", "version")...), "keepvip v0.1.0 linux/", "by its name, as kubectl exec and crictl exec look for it")
	out, err := m.try(append(slices.Clone(run), "two")...)
	assert.Error(t, err)
	assert.Contains(t, out, "--vip", "the entrypoint runs the daemon, which asks for an address")
}
