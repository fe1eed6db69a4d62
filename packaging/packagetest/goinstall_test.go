//go:build packages

package packagetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// `go install` of a version, from a proxy that is a directory: the program knows its version, and its manifest names the image of it.
func TestGoInstallByVersion(t *testing.T) {
	const version = "v0.1.0"
	proxy := t.TempDir()
	at := filepath.Join(proxy, "github.com/keepvip/keepvip/@v")
	require.NoError(t, os.MkdirAll(at, 0o755))
	zip, err := os.Create(filepath.Join(at, version+".zip"))
	require.NoError(t, err)
	require.NoError(t, modzip.CreateFromDir(zip, module.Version{Path: "github.com/keepvip/keepvip", Version: version}, "../.."))
	require.NoError(t, zip.Close())
	gomod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"list": version + "\n", version + ".info": `{"Version":"` + version + `","Time":"2026-11-26T00:00:00Z"}`, version + ".mod": string(gomod),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o644))
	}

	env := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	bin, cache := t.TempDir(), t.TempDir()
	cmd := exec.Command("go", "install", "-ldflags=-s -w", "github.com/keepvip/keepvip/cmd/keepvip@"+version)
	cmd.Dir = bin
	cmd.Env = append(
		os.Environ(), "GOBIN="+bin, "GOMODCACHE="+cache, "GOFLAGS=-modcacherw -trimpath", "GONOSUMDB=*", "GONOSUMCHECK=1", "CGO_ENABLED=0",
		"GOPROXY=file://"+proxy+",file://"+env("GOMODCACHE")+"/cache/download,"+env("GOPROXY"),
	)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))

	program := filepath.Join(bin, "keepvip")
	said, err := exec.Command(program, "version").Output()
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(said), "keepvip v0.1.0 "), string(said))
	pod, err := exec.Command(program, "manifest", "pod", "--vip", "10.0.0.100").CombinedOutput()
	require.NoError(t, err)
	assert.Contains(t, string(pod), "image: ghcr.io/keepvip/keepvip:v0.1.0\n")
	assert.NotContains(t, string(pod), "note:")
	info, err := os.Stat(program)
	require.NoError(t, err)
	assert.LessOrEqual(t, info.Size(), int64(24_000_000))
}
