package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInstallersHaveTheVersion(t *testing.T) {
	r := &Release{Source: "../..", Version: "1.2.3", Time: time.Unix(1_700_000_000, 0)}
	out := results{}
	require.NoError(t, r.installers(out))
	chart := unpacked(t, out["keepvip-1.2.3.tgz"])
	assert.Contains(t, chart["keepvip/Chart.yaml"], "version: 1.2.3\nappVersion: 1.2.3\n")
	assert.NotContains(t, chart["keepvip/Chart.yaml"], unreleased)
	assert.Contains(t, chart, "keepvip/templates/members.yaml")
	rest := unpacked(t, out["keepvip-1.2.3-installers.tar.gz"])
	for _, name := range []string{
		"ansible/roles/keepvip/tasks/main.yml", "clusterapi/clusterclass.yaml", "k0s/k0sctl.yaml", "kubespray/keepvip.yml", "kustomize/kustomization.yaml",
	} {
		assert.Contains(t, rest, "keepvip-1.2.3-installers/"+name)
	}
	again := results{}
	require.NoError(t, r.installers(again))
	assert.Equal(t, out, again)
}

func unpacked(t *testing.T, data []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		files[h.Name] = string(text)
	}
}
